import BelfryCore
import BelfryTesting
import GRDB
import Testing

@testable import BelfryStore

@Suite struct DemolitionTests {
    private static let tables = [
        "application", "platform", "device", "topic", "subscription", "push", "push_progress", "tally", "walk", "page",
        "schedule",
        "location", "location_group", "location_group_member", "geofence", "geofence_location", "geofence_deletion",
        "geofence_stamp", "geofence_notice", "push_count", "platform_count", "geofence_count", "heartbeat",
    ]

    /// An application with something in each table, some of its devices swept and some not.
    private func furnish(_ store: SQLiteStore) async throws -> Scene {
        let scene = try await Scene(store: store, clock: HandClock())
        for number in 0..<40 {
            try await scene.register("\(number)", topics: .replace(["a", "b"]), user: .set("Kim"))
            if number == 20 { try await store.writer.write { try SQLiteSubscriptionSweep(session: $0).step() } }
        }
        _ = try await scene.push()
        try await scene.spread(pagesOf: 10)
        _ = try await store.settle(Settlement(try await scene.claimOne(), all: .accepted))
        _ = try await scene.push(lane: .bulk)
        _ = try await scene.schedule(in: .zero)
        try await scene.drawMap()
        return scene
    }

    private func rows(in store: SQLiteStore) async throws -> [String: Int] {
        try await store.pool.read { db in
            var counts: [String: Int] = [:]
            for table in Self.tables {
                let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
                if count > 0 { counts[table] = count }
            }
            return counts
        }
    }

    @Test func `nothing of a deleted application is left, and nothing of another is gone`() async throws {
        try await withSQLiteStore { store, _ in
            _ = try await furnish(store)
            try await store.writer.write { try SQLiteSubscriptionSweep(session: $0).step() }
            let before = try await rows(in: store)
            #expect(before.count == Self.tables.count)
            // Its pushes are not spread: a claim would take the pages of both.
            let doomed = try await Scene(store: store, clock: HandClock())
            for number in 0..<40 { try await doomed.register("\(number)", topics: .replace(["a"])) }
            _ = try await doomed.push()
            let sent = try await doomed.schedule(in: .zero)
            _ = try await store.release(sent, as: .sample(to: doomed.platform))
            _ = try await doomed.schedule(in: .seconds(900))
            try await doomed.drawMap()
            try await store.delete(doomed.application.key, force: true)
            #expect(try await rows(in: store) == before)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `what a crash left is cleared by the next process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true)
            let scene = try await furnish(store)
            try await store.pool.write { db in
                _ = try db.prepared(DemolitionStatements.doom).run(scene.application.key)
            }
            try await store.close()
            let next = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: false)
            #expect(try await next.applications().isEmpty)
            while try await !rows(in: next).isEmpty { await Task.yield() }
            try await next.close()
        }
    }
}

extension Scene {
    /// Something in each table of locations, geofences and counts but `push_count`, which a settled page fills.
    fileprivate func drawMap() async throws {
        let shop = try await locate()
        _ = try await store.create(
            LocationGroupPlan(name: "shops", summary: "", locations: [shop.key]), of: application.key)
        _ = try await store.delete(try await fence([shop]).key, of: application.key)
        let geofence = try await fence([shop])
        let device = try await register("beating")
        let events = [
            AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid),
            AnalyticsEvent(kind: .geofenceTriggered, time: clock.now, device: device.uuid, geofence: geofence.key),
        ]
        _ = try await store.record(events, on: platform, lateMax: .seconds(3_600))
    }
}
