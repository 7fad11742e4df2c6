/// A named circle on the map, for geofences to use.
package struct Location: Sendable, Hashable {
    package let key: Key<Location>
    package let place: Place
    package let createdAt: Instant
    package let updatedAt: Instant
}

/// A name, a point and a radius, validated as devices require.
///
/// A device that is sent anything else silently drops the whole geofence.
/// Source: what the PCF SDKs check, `docs/compatibility/pcf.md`.
package struct Place: Sendable, Hashable {
    package let name: String
    /// Degrees, -90...90.
    package let latitude: Double
    /// Degrees, -180...180.
    package let longitude: Double
    /// Metres, 10 or more.
    package let radius: Double

    package static let nameBytesMax = 255
    package static let radiusMin = 10.0

    /// Creates a value that was validated before. Throws `InvalidInput` on numbers that JSON cannot express.
    package init(stored name: String, latitude: Double, longitude: Double, radius: Double) throws(InvalidInput) {
        guard latitude.isFinite, longitude.isFinite, radius.isFinite else {
            throw InvalidInput(field: "place", "is \(latitude), \(longitude), \(radius)")
        }
        self.name = name
        self.latitude = latitude
        self.longitude = longitude
        self.radius = radius
    }

    package init(name: String, latitude: Double, longitude: Double, radius: Double) throws(InvalidInput) {
        guard !name.isEmpty else { throw InvalidInput(field: "name", "is empty") }
        guard name.utf8.count <= Self.nameBytesMax else {
            throw InvalidInput(field: "name", "is \(name.utf8.count) bytes, the limit is \(Self.nameBytesMax)")
        }
        guard (-90.0...90).contains(latitude) else {
            throw InvalidInput(field: "lat", "is \(latitude), it has to be in -90...90 degrees")
        }
        guard (-180.0...180).contains(longitude) else {
            throw InvalidInput(field: "long", "is \(longitude), it has to be in -180...180 degrees")
        }
        guard radius.isFinite, radius >= Self.radiusMin else {
            throw InvalidInput(field: "rad", "is \(radius), it has to be \(Int(Self.radiusMin)) metres or more")
        }
        try self.init(stored: name.normalized, latitude: latitude, longitude: longitude, radius: radius)
    }
}

/// Locations grouped under a name, to make choosing locations easier. Devices never see groups.
package struct LocationGroup: Sendable, Hashable {
    package let key: Key<LocationGroup>
    package let name: String
    package let summary: String
    /// In the order they were given.
    package let locations: [Location]
    package let createdAt: Instant
    package let updatedAt: Instant

    package var plan: LocationGroupPlan {
        LocationGroupPlan(kept: name, summary: summary, locations: locations.map(\.key))
    }
}

/// The content of a location group.
package struct LocationGroupPlan: Sendable, Hashable {
    package let name: String
    package let summary: String
    /// Each once, in the order they were given.
    package let locations: [Key<Location>]

    package static let summaryBytesMax = 1_024
    package static let locationsMax = 1_000

    package init(name: String, summary: String, locations: [Key<Location>]) throws(InvalidInput) {
        guard !name.isEmpty else { throw InvalidInput(field: "name", "is empty") }
        guard name.utf8.count <= Place.nameBytesMax else {
            throw InvalidInput(field: "name", "is \(name.utf8.count) bytes, the limit is \(Place.nameBytesMax)")
        }
        guard summary.utf8.count <= Self.summaryBytesMax else {
            throw InvalidInput(
                field: "description", "is \(summary.utf8.count) bytes, the limit is \(Self.summaryBytesMax)")
        }
        let locations = locations.withoutRepeats
        guard locations.count <= Self.locationsMax else {
            throw InvalidInput(
                field: "location_ids", "has \(locations.count) locations, the limit is \(Self.locationsMax)")
        }
        self.init(kept: name.normalized, summary: summary.normalized, locations: locations)
    }

    /// Creates a value that was validated before.
    fileprivate init(kept name: String, summary: String, locations: [Key<Location>]) {
        self.name = name
        self.summary = summary
        self.locations = locations
    }
}

extension Array where Element: Hashable {
    /// Each element at its first position.
    package var withoutRepeats: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
