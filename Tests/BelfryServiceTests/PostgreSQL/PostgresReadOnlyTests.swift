import BelfryTesting
import Logging
import PostgreSQL
import Testing

@testable import BelfryService

@Suite struct PostgresReadOnlyTests {
    @Test func `an unwritable database says so and continues when possible`() async throws {
        let log = CapturedLog()
        try await withLoggedStore(log) { store in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a")
            let push = try await fixture.push()
            // As if the server had become a standby. The pool has one connection.
            try await run("SET default_transaction_read_only = on", in: store)
            await #expect {
                _ = try await fixture.push()
            } throws: { error in
                if case .unavailable(let words) = error as? StoreError { words.contains("read-only") } else { false }
            }
            #expect(try await store.device(device.uuid, on: fixture.platform.key) == device)
            try await run("SET default_transaction_read_only = off", in: store)
            try await fixture.fanOut()
            #expect(try await fixture.counts(of: push) == [.pending: 1])
        }
    }

    private func run(_ script: String, in store: PostgresStore) async throws {
        try await store.readCommitted { try $0.run(script: script) }
    }

    private func withLoggedStore(_ log: CapturedLog, _ body: (PostgresStore) async throws -> Void) async throws {
        try await TestDatabases.withDatabase { connection in
            let store = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 1, clock: ManualClock()), logger: log.logger,
                migrate: false)
            let outcome: Swift.Result<Void, any Error>
            do { outcome = .success(try await body(store)) } catch { outcome = .failure(error) }
            await store.close()
            try outcome.get()
        }
    }
}
