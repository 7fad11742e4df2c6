import BelfryCore
import BelfryTesting
import Logging
import PostgreSQL
import Testing

@testable import BelfryStorePostgres

@Suite struct PostgresDamageTests {
    @Test(arguments: [#"devices = '\xff'"#, #"answers = '\xffff'"#, #"answers = '\x00'"#])
    func `a damaged page is set aside, others go on, and once mended it is carried`(damage: String) async throws {
        let book = LogBook()
        try await withLoggedStore(book) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await scene.spread()
            try await run("CREATE TABLE sound AS SELECT * FROM page; UPDATE page SET \(damage)", in: store)
            let other = try await scene.push()
            try await scene.spread()
            #expect(try await scene.claim(9).map(\.pushKey) == [other.key])
            #expect(book.lines(atLeast: .error).count == 1)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await store.receipt(hurt.receiptID)?.state != .settled)
            try await run(
                """
                UPDATE page SET devices = sound.devices, answers = sound.answers, due_at_ms = 0 FROM sound
                 WHERE page.id = sound.id; DROP TABLE sound
                """, in: store)
            let page = try await scene.claimOne()
            #expect(page.pushKey == hurt.key && !page.isLapsed)
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            #expect(try await scene.counts(of: hurt) == [.accepted: 3])
        }
    }

    @Test func `a push that cannot be read holds up no other`() async throws {
        let book = LogBook()
        try await withLoggedStore(book) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            _ = try await scene.registerMany(3)
            _ = try await scene.push()
            try await run("UPDATE push SET audience = 'nonsense'", in: store)
            let other = try await scene.push()
            try await scene.spread()
            #expect(try await scene.claim(9).map(\.pushKey) == [other.key])
            #expect(book.lines(atLeast: .error) != [])
        }
    }

    @Test func `a database that cannot be written says so, and goes on when it can`() async throws {
        let book = LogBook()
        try await withLoggedStore(book) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            let device = try await scene.register("a")
            let push = try await scene.push()
            // As if the server had become a standby. The pool has one connection.
            try await run("SET default_transaction_read_only = on", in: store)
            await #expect {
                _ = try await scene.push()
            } throws: { error in
                if case .unavailable(let words) = error as? StoreError { words.contains("read-only") } else { false }
            }
            #expect(try await store.device(device.uuid, on: scene.platform.key) == device)
            try await run("SET default_transaction_read_only = off", in: store)
            try await scene.spread()
            #expect(try await scene.counts(of: push) == [.pending: 1])
        }
    }

    private func run(_ script: String, in store: PostgresStore) async throws {
        try await store.glance { try $0.run(script: script) }
    }

    private func withLoggedStore(_ book: LogBook, _ body: (PostgresStore) async throws -> Void) async throws {
        try await PostgresHall.withDatabase { connection in
            let store = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 1, clock: HandClock()), logger: book.logger,
                migrate: false)
            let outcome: Swift.Result<Void, any Error>
            do { outcome = .success(try await body(store)) } catch { outcome = .failure(error) }
            await store.close()
            try outcome.get()
        }
    }
}
