import BelfryTesting
import PostgreSQL
import Testing

@testable import BelfryService

/// Nodes count for themselves, and compare.
@Suite struct SharedUseTests {
    private static let quotas = Quotas([.devices: 3, .topics: 3])

    private func withTwoNodes(_ body: (TestStore, TestStore, [PostgresStore]) async throws -> Void) async throws {
        try await TestDatabases.withDatabase { connection in
            let clock = ManualClock()
            var nodes: [PostgresStore] = []
            for _ in 0..<2 {
                nodes.append(
                    try await PostgresStore.open(
                        .init(
                            connection: connection, connectionsMax: 2, clock: clock, use: .copyingFrom,
                            quotas: Self.quotas), logger: .strict, migrate: false))
            }
            let fixture = try await TestStore(store: nodes[0], clock: clock)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(fixture, fixture.seen(by: nodes[1]), nodes))
            } catch {
                outcome = .failure(error)
            }
            for node in nodes { await node.close() }
            try outcome.get()
        }
    }

    /// Does what a node does by itself every second.
    private func compare(_ node: PostgresStore, _ fixture: TestStore) async throws {
        let accounts = [Quota.devices, .topics].map { QuotaAccount($0, of: fixture.application.key) }
        try await node.pool.run { connection in
            try node.sharedUse.writeDown(on: connection, node.quotaCounts)
            try node.sharedUse.count(accounts, on: connection, node.quotaCounts)
        }
    }

    @Test func `one node's acceptances count on another after comparing`() async throws {
        try await withTwoNodes { here, there, nodes in
            try await here.register("a", topics: .replace(["t"]))
            try await there.register("b", topics: .replace(["u"]))
            for node in nodes { try await compare(node, here) }
            for node in nodes { try await compare(node, here) }
            try await here.register("c", topics: .replace(["v"]))
            await #expect(throws: StoreError.self) { try await here.register("d") }
            for node in nodes { try await compare(node, here) }
            await #expect(throws: StoreError.self) { try await there.register("d") }
            await #expect(throws: StoreError.self) { try await there.register("b", topics: .replace(["w"])) }
            #expect(try await there.register("b", topics: .replace(["u", "v"])).topics == ["u", "v"])
        }
    }

    @Test func `use outlives the node`() async throws {
        try await TestDatabases.withDatabase { connection in
            let clock = ManualClock()
            let open = {
                try await PostgresStore.open(
                    .init(connection: connection, connectionsMax: 2, clock: clock, quotas: Self.quotas),
                    logger: .strict,
                    migrate: false)
            }
            let store = try await open()
            let fixture = try await TestStore(store: store, clock: clock)
            for token in ["a", "b", "c"] { try await fixture.register(token) }
            await store.close()
            let next = try await open()
            let uses = try await next.quotas(of: fixture.application.key)
            #expect(uses.first == QuotaUse(quota: .devices, use: 3, limit: 3))
            await #expect(throws: StoreError.self) { try await fixture.seen(by: next).register("d") }
            await next.close()
        }
    }

    @Test func `a refused registration spares those sharing its transaction`() async throws {
        try await withTwoNodes { here, _, nodes in
            let entries = try ["a", "b", "c", "d"].enumerated().map { index, token in
                RegistrationEntry(
                    try Registration(
                        token: DeviceToken(bytes: Array(token.utf8)), about: .init(), customUserID: .keep,
                        topics: .replace(index == 1 ? ["t", "u", "v", "w"] : ["t", "u"])),
                    as: nil, on: here.platform, nodes[0].secrets)
            }
            let made = try await nodes[0].write { session in
                var registrar = PostgresRegistrar(session: session, entries: entries)
                return try registrar.register().map { (try? $0.get()) != nil }
            }
            #expect(made == [true, false, true, true])
            #expect(try await here.store.deviceCount(on: here.platform.key) == 3)
        }
    }
}
