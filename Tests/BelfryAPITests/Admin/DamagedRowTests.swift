import BelfryCore
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryAPI

/// What the admin API says of rows that cannot be read.
@Suite struct DamagedRowTests {
    @Test func `what cannot be read is a 500 that does not ask to come again, and is deleted all the same`()
        async throws
    {
        var stand = try await AdminStand()
        let estate = try await stand.estate("hurt")
        stand.routes = AdminRoutes(
            store: UnreadableStore(base: stand.store), vault: stand.vault, clock: stand.clock,
            credentials: GlassCredentials(vault: stand.vault))
        let application = "apps/\(estate.application.uuid.lowercased)"
        for path in [
            "schedules/\(estate.schedule.key.id)", "geofences/\(estate.geofence.key)",
            "location-groups/\(estate.group.key)", "locations/\(estate.location.key)",
        ] {
            let shown = try await stand.send(.get, "\(application)/\(path)")
            #expect(shown.status == 500 && shown.text.contains("cannot be read"), "\(path): \(shown)")
            #expect(try await stand.send(.delete, "\(application)/\(path)").status == 204, "\(path)")
        }
        #expect(
            try await stand.audited().prefix(4) == [
                "location.delete", "location_group.delete", "geofence.delete", "schedule.cancel",
            ])
    }
}

/// A store in which every row that a team makes on its own is damaged.
private struct UnreadableStore: WrappedStore {
    let base: any Store

    func schedule(_ key: Key<Schedule>, of application: Key<BelfryCore.Application>) async throws -> Schedule? {
        throw StoreError.damaged("schedule \(key)")
    }

    func geofence(_ key: Key<Geofence>, of application: Key<BelfryCore.Application>) async throws -> Geofence? {
        throw StoreError.damaged("geofence \(key)")
    }

    func location(_ key: Key<Location>, of application: Key<BelfryCore.Application>) async throws -> Location? {
        throw StoreError.damaged("location \(key)")
    }

    func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<BelfryCore.Application>
    ) async throws -> LocationGroup? {
        throw StoreError.damaged("location group \(key)")
    }
}
