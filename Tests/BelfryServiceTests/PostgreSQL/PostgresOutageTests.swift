import BelfryTesting
import PostgresRig
import Testing

@testable import BelfryService

/// A database that goes away and comes back.
@Suite(.timeLimit(.minutes(20))) struct PostgresOutageTests {
    @Test func `a settlement waits for a database that is away`() async throws {
        try await withServer { server, fixture in
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            server.stop()
            async let isSettled = fixture.store.settle(Settlement(batch, all: .accepted))
            await #expect(throws: StoreError.self) { try await fixture.push() }
            try server.start()
            let settled = try await isSettled
            #expect(settled)
            #expect(try await fixture.counts(of: push) == [.accepted: 3])
        }
    }

    @Test func `writes refused during an outage are not retried singly`() async throws {
        try await withServer { server, fixture in
            server.stop()
            let failures = await withTaskGroup(of: Bool.self) { group in
                for number in 1...300 {
                    group.addTask {
                        do { try await fixture.register("\(number)") } catch { return error is StoreError }
                        return false
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(failures == 300)
            try server.start()
            #expect(try await fixture.registerMany(5).count == 5)
        }
    }

    private func withServer(_ body: (PostgresServer, TestStore) async throws -> Void) async throws {
        try await PostgresServer.with { server in
            let clock = ManualClock()
            let store = try await PostgresStore.open(
                .init(connection: server.connection(to: "postgres"), connectionsMax: 2, clock: clock), logger: .strict,
                migrate: true)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(server, try await TestStore(store: store, clock: clock)))
            } catch {
                outcome = .failure(error)
            }
            await store.close()
            try outcome.get()
        }
    }
}
