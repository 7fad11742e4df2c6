import BelfryTesting
import Dispatch
import PostgreSQL
import Testing

@testable import BelfryService

@Suite(.timeLimit(.minutes(20))) struct PostgresSearchLimitsTests {
    @Test func `a statement ends midway when its caller has left`() async throws {
        try await TestDatabases.withDatabase { connection in
            let store = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 2, clock: ManualClock()), logger: .strict, migrate: false)
            let begun = DispatchSemaphore(value: 0)
            let search = Task {
                try await store.search(for: Key(1)) { db, budget in
                    begun.signal()
                    while true {
                        try budget.check()
                        try db.prepared("SELECT pg_sleep(60)").run()
                    }
                }
            }
            search.cancelOnceBegun(begun)
            await #expect(throws: CancellationError.self) { try await search.value }
            let answer = try await store.search(for: Key(1)) { db, budget in
                try budget.check()
                return try db.prepared("SELECT 7::bigint").first { $0.integer(0) }
            }
            #expect(answer == 7)
            await store.close()
        }
    }
}
