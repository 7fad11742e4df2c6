// Replies of the admin API about locations and geofences, shared by server and clients. Times are in ISO 8601,
// latitudes and longitudes in degrees, radii in metres.

extension Admin {
    /// A location.
    package struct LocationReply: Codable, Sendable {
        package let location_id: Int64
        package let name: String
        package let latitude: Double
        package let longitude: Double
        package let radius: Double
        package let created_at: String
        package let updated_at: String

        package init(_ location: Location) {
            location_id = location.key.rawValue
            name = location.place.name
            latitude = location.place.latitude
            longitude = location.place.longitude
            radius = location.place.radius
            created_at = location.createdAt.text
            updated_at = location.updatedAt.text
        }
    }

    /// A page of locations.
    package struct LocationsReply: Codable, Sendable {
        package let total: Int
        package let locations: [LocationReply]
        @OrNull package var next_cursor: String?
    }

    /// A location group, with its locations.
    package struct LocationGroupReply: Codable, Sendable {
        package let group_id: Int64
        package let name: String
        package let description: String
        package let location_ids: [Int64]
        package let created_at: String
        package let updated_at: String

        package init(_ group: LocationGroup) {
            group_id = group.key.rawValue
            name = group.name
            description = group.summary
            location_ids = group.locations.map(\.key.rawValue)
            created_at = group.createdAt.text
            updated_at = group.updatedAt.text
        }
    }

    /// A page of location groups.
    package struct LocationGroupsReply: Codable, Sendable {
        package let total: Int
        package let location_groups: [LocationGroupReply]
        @OrNull package var next_cursor: String?
    }

    /// Its data may be any JSON, which `JSONReader` alone reads.
    package struct GeofenceReply: Encodable, Sendable {
        package let geofence_id: Int64
        package let locations: [LocationReply]
        package let location_group_ids: [Int64]
        package let trigger: String
        package let platform: String
        package let topics: [String]
        package let data: JSONValue
        package let phase: String
        @OrNull package var starts_at: String?
        package let expires_at: String
        package let created_at: String
        package let updated_at: String

        package init(_ geofence: Geofence) {
            geofence_id = geofence.key.rawValue
            locations = geofence.locations.map(LocationReply.init)
            location_group_ids = geofence.plan.groups.map(\.rawValue)
            trigger = geofence.plan.trigger.rawValue
            platform = geofence.plan.platform.rawValue
            topics = geofence.plan.tags
            data = .object(geofence.plan.data.parts)
            phase = "\(geofence.phase)"
            _starts_at = OrNull(wrappedValue: geofence.plan.startsAt == .zero ? nil : geofence.plan.startsAt.text)
            expires_at = geofence.plan.expiresAt.text
            created_at = geofence.createdAt.text
            updated_at = geofence.updatedAt.text
        }
    }

    /// A page of geofences.
    package struct GeofencesReply: Encodable, Sendable {
        package let total: Int
        package let geofences: [GeofenceReply]
        @OrNull package var next_cursor: String?
    }
}
