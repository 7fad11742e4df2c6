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
            #expect(try await store.receipt(hurt.receiptID)?.state == .damaged)
            #expect(try await store.receipt(hurt.receiptID)?.damagedPages == 1)
            #expect(try await store.damagedPageCount() == 1)
            try await run(
                """
                UPDATE page SET devices = sound.devices, answers = sound.answers, due_at_ms = 0 FROM sound
                 WHERE page.id = sound.id; DROP TABLE sound
                """, in: store)
            let page = try await scene.claimOne()
            #expect(page.pushKey == hurt.key && !page.isLapsed)
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.writeOffDamagedPages(of: hurt.key) == 0)
            #expect(try await scene.counts(of: hurt) == [.accepted: 3])
            #expect(try await store.damagedPageCount() == 0)
        }
    }

    @Test(arguments: [
        (#"devices = '\xff'"#, 2), (#"answers = '\x01'"#, 3), (#"answers = '\x010064'"#, 2),
    ])
    func `a damaged page that is written off has an answer for each device, and its push settles`(
        damage: String, skipped: Int
    ) async throws {
        try await withLoggedStore(LogBook()) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            // One is told, two wait.
            #expect(
                try await store.settle(
                    Settlement(page: page, answers: [.accepted, .pending, .pending], retryAt: scene.clock.now)))
            try await run("UPDATE page SET \(damage)", in: store)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await store.writeOffDamagedPages(of: hurt.key) == skipped)
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled)
            #expect(receipt.counts == [.accepted: 3 - skipped, .skipped(.damaged): skipped].filter { $0.value > 0 })
            #expect(try await store.answerCounts(of: hurt.key) == [scene.platform.key: receipt.counts])
            let isListed = !damage.hasPrefix("devices")
            let list = try await store.answers(in: hurt.key, kind: .skipped, after: nil, limit: 9)
            #expect(list.answers.count == (isListed ? skipped : 0))
            #expect(try await store.damagedPageCount() == 0)
            #expect(try await store.writeOffDamagedPages(of: hurt.key) == 0)
            try await run("UPDATE page SET due_at_ms = 0", in: store)
            #expect(try await scene.claim(9).isEmpty)
            // A courier that still has it comes too late.
            #expect(try await !store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.receipt(hurt.receiptID) == receipt)
        }
    }

    @Test func `a damaged page is written off beside others of its push that go on`() async throws {
        try await withLoggedStore(LogBook()) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            _ = try await scene.registerMany(6)
            let hurt = try await scene.push()
            try await scene.spread(pagesOf: 2)
            let first = try await scene.claimOne()
            try await run(#"UPDATE page SET answers = '\x00' WHERE id = (SELECT max(id) FROM page)"#, in: store)
            let second = try await scene.claim(9)
            #expect(second.count == 1)
            for page in second {
                let resting = Settlement(page: page, answers: [.pending, .pending], retryAt: .zero, rests: [0: 1])
                #expect(try await store.settle(resting))
            }
            #expect(try await store.writeOffDamagedPages(of: hurt.key) == 2)
            #expect(try await scene.counts(of: hurt) == [.skipped(.damaged): 2, .pending: 4])
            let again = try await scene.claimOne()
            for page in [first, again] { #expect(try await store.settle(Settlement(page, all: .accepted))) }
            #expect(try await store.receipt(hurt.receiptID)?.state == .settled)
            #expect(try await scene.counts(of: hurt) == [.skipped(.damaged): 2, .accepted: 4])
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
