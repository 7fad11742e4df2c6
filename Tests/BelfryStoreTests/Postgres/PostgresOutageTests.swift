import BelfryCore
import BelfryTesting
import PostgresRig
import Testing

@testable import BelfryStore

/// A database that goes away and comes back.
@Suite(.timeLimit(.minutes(2))) struct PostgresOutageTests {
    @Test func `a settlement waits for a database that is away`() async throws {
        try await withServer { server, scene in
            _ = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            server.stop()
            async let isSettled = scene.store.settle(Settlement(page, all: .accepted))
            await #expect(throws: StoreError.self) { try await scene.push() }
            try server.start()
            let settled = try await isSettled
            #expect(settled)
            #expect(try await scene.counts(of: push) == [.accepted: 3])
        }
    }

    @Test func `what is refused while the database is away is not tried one by one`() async throws {
        try await withServer { server, scene in
            server.stop()
            let failures = await withTaskGroup(of: Bool.self) { group in
                for number in 1...300 {
                    group.addTask {
                        do { try await scene.register("\(number)") } catch { return error is StoreError }
                        return false
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(failures == 300)
            try server.start()
            #expect(try await scene.registerMany(5).count == 5)
        }
    }

    private func withServer(_ body: (PostgresServer, Scene) async throws -> Void) async throws {
        try await PostgresServer.with { server in
            let clock = HandClock()
            let store = try await PostgresStore.open(
                .init(connection: server.connection(to: "postgres"), connectionsMax: 2, clock: clock), logger: .strict,
                migrate: true)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(server, try await Scene(store: store, clock: clock)))
            } catch {
                outcome = .failure(error)
            }
            await store.close()
            try outcome.get()
        }
    }
}
