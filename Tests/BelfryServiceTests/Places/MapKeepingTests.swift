import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

@Suite struct MapKeepingTests {
    @Test func `updates, stamps and deletions outlive the process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let clock = ManualClock()
            let store = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: true)
            let fixture = try await TestStore(store: store, clock: clock)
            let shop = try await fixture.locate()
            let gone = try await fixture.fence([shop])
            let kept = try await fixture.fence([shop])
            let since = try await fixture.updates().lastModified
            _ = try await store.delete(gone.key, of: fixture.application.key)
            clock.advance(by: .seconds(1))
            // Not closed: what returned is in the file.
            let next = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: false)
            #expect(try await next.dueGeofenceUpdates(atMost: 9).map(\.changeCount) == [3])
            let updates = try await next.geofenceUpdates(since: since, on: fixture.platform)
            #expect(updates.geofences.isEmpty && updates.gone == [gone.key])
            let fresh = try await next.geofenceUpdates(since: .zero, on: fixture.platform)
            #expect(fresh.geofences == [kept])
            try await next.close()
            try await store.close()
        }
    }

    @Test func `an event costs a few bytes, however much it says`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a")
            let push = try await fixture.push()
            let bytes = {
                try await store.pool.read { db in
                    try Int.fetchOne(db, sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                        ?? 0
                }
            }
            let count = 20_000
            let events = (0..<count).map { number in
                AnalyticsEvent(
                    kind: .received, time: fixture.clock.now + .milliseconds(-number), device: device.uuid,
                    receiptID: push.receiptID)
            }
            let before = try await bytes()
            let tally = try await store.record(events, on: fixture.platform, lateMax: .seconds(86_400))
            let perEvent = Double(try await bytes() - before) / Double(count)
            print("an event takes \(perEvent) bytes of the database")
            #expect(tally.counted == count && perEvent < 32)
        }
    }
}
