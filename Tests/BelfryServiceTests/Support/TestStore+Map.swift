import BelfryService
import BelfryTesting
import Foundation

/// Short words for what tests do with locations and geofences.
extension TestStore {
    func locate(_ name: String = "shop", latitude: Double = 49.25, radius: Double = 100) async throws -> Location {
        try await store.create(.named(name, latitude: latitude, radius: radius), of: application.key)
    }

    /// A geofence around the locations, from now on and for an hour.
    func fence(
        _ locations: [Location], platform: GeofencePlatform = .all, startsIn start: Duration? = nil,
        expiresIn end: Duration = .seconds(3_600)
    ) async throws -> Geofence {
        try await store.create(
            .around(
                locations.map(\.key), platform: platform, startsAt: start.map { clock.now + $0 } ?? .zero,
                expiresAt: clock.now + end), of: application.key)
    }

    func updates(since: Instant = .zero, on platform: Platform? = nil) async throws -> GeofenceChanges {
        try await store.geofenceUpdates(since: since, on: platform ?? self.platform)
    }

    func dueUpdates() async throws -> [GeofenceUpdate] { try await store.dueGeofenceUpdates(atMost: 100) }
}

extension Place {
    static func named(_ name: String, latitude: Double = 49.25, radius: Double = 100) throws -> Place {
        try Place(name: name, latitude: latitude, longitude: -123.5, radius: radius)
    }

    func moved(to latitude: Double) throws -> Place {
        try Place(name: name, latitude: latitude, longitude: longitude, radius: radius)
    }
}

extension GeofencePlan {
    static func around(
        _ locations: [Key<Location>], groups: [Key<LocationGroup>] = [], platform: GeofencePlatform = .all,
        startsAt: Instant = .zero, expiresAt: Instant, text: String = "hello"
    ) throws -> GeofencePlan {
        try GeofencePlan(
            locations: locations, groups: groups, trigger: .enter, platform: platform, tags: ["news"],
            data: try GeofenceData([
                "ios": .object(["alertBody": .string(text)]), "android": .object(["message": .string(text)]),
            ]), startsAt: startsAt, expiresAt: expiresAt)
    }

    func with(
        locations: [Key<Location>]? = nil, groups: [Key<LocationGroup>]? = nil, platform: GeofencePlatform? = nil,
        startsAt: Instant? = nil, expiresAt: Instant? = nil
    ) throws -> GeofencePlan {
        try GeofencePlan(
            locations: locations ?? self.locations, groups: groups ?? self.groups, trigger: trigger,
            platform: platform ?? self.platform, tags: tags,
            data: data, startsAt: startsAt ?? self.startsAt, expiresAt: expiresAt ?? self.expiresAt)
    }
}
