import BelfryService
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryAPI

/// Answers of the admin API for rows that cannot be read.
@Suite struct DamagedRowTests {
    @Test func `what cannot be read is a 500 that does not ask to come again, and is deleted all the same`()
        async throws
    {
        var server = try await TestAdminServer()
        let resources = try await server.resources("hurt")
        server.routes = AdminRoutes(
            store: UnreadableStore(base: server.store), vault: server.vault, clock: server.clock,
            credentials: PlaintextCredentials(vault: server.vault), shares: ConcurrencyLimiter())
        let application = "apps/\(resources.application.uuid.lowercased)"
        for path in [
            "schedules/\(resources.schedule.key.id)", "geofences/\(resources.geofence.key)",
            "location-groups/\(resources.group.key)", "locations/\(resources.location.key)",
        ] {
            let shown = try await server.send(.get, "\(application)/\(path)")
            #expect(shown.status == 500 && shown.text.contains("cannot be read"), "\(path): \(shown)")
            #expect(try await server.send(.delete, "\(application)/\(path)").status == 204, "\(path)")
        }
        #expect(
            try await server.audited().prefix(4) == [
                "location.delete", "location_group.delete", "geofence.delete", "schedule.cancel",
            ])
    }
}

/// A store in which every row that a team makes on its own is damaged.
private struct UnreadableStore: WrappedStore {
    let base: any Store

    func schedule(_ key: Key<Schedule>, of application: Key<BelfryService.Application>) async throws -> Schedule? {
        throw StoreError.damaged("schedule \(key)")
    }

    func geofence(_ key: Key<Geofence>, of application: Key<BelfryService.Application>) async throws -> Geofence? {
        throw StoreError.damaged("geofence \(key)")
    }

    func location(_ key: Key<Location>, of application: Key<BelfryService.Application>) async throws -> Location? {
        throw StoreError.damaged("location \(key)")
    }

    func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<BelfryService.Application>
    ) async throws -> LocationGroup? {
        throw StoreError.damaged("location group \(key)")
    }
}
