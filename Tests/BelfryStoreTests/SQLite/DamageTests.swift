import BelfryCore
import BelfryTesting
import GRDB
import Logging
import Testing

@testable import BelfryStoreSQLite

@Suite struct DamageTests {
    @Test(arguments: ["devices = x'ff'", "answers = x'ffff'", "answers = x'00'"])
    func `a damaged page is set aside, others go on, and once mended it is carried`(damage: String) async throws {
        let book = LogBook()
        try await withLoggedStore(book) { store in
            let scene = try await Scene(store: store, clock: HandClock())
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await scene.spread()
            let sound = try #require(
                try await store.pool.read { db in
                    try db.prepared("SELECT devices, answers FROM page").first { ($0.blob(0), $0.blob(1)) }
                })
            try await store.pool.write { try $0.execute(sql: "UPDATE page SET \(damage)") }
            let other = try await scene.push()
            try await scene.spread()
            let pages = try await scene.claim(9)
            #expect(pages.map(\.pushKey) == [other.key])
            #expect(book.lines(atLeast: .error).count == 1)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await store.receipt(hurt.receiptID)?.state == .damaged)
            #expect(try await store.receipt(hurt.receiptID)?.damagedPages == 1)
            #expect(try await store.damagedPageCount() == 1)
            try await store.pool.write { db in
                try db.prepared("UPDATE page SET devices = ?1, answers = ?2 WHERE push_id = ?3").run(
                    sound.0, sound.1, hurt.key)
            }
            try await store.pool.write { db in
                try db.prepared("UPDATE page SET due_at_ms = 0 WHERE push_id = ?1").run(hurt.key)
            }
            let page = try await scene.claimOne()
            #expect(page.pushKey == hurt.key && !page.isLapsed)
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.writeOffDamagedPages(of: hurt.key) == 0)
            #expect(try await scene.counts(of: hurt) == [.accepted: 3])
            #expect(try await store.damagedPageCount() == 0)
        }
    }

    @Test(arguments: [
        ("devices = x'ff'", 2), ("answers = x'01'", 3), ("answers = x'010064'", 2),
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
            try await store.pool.write { try $0.execute(sql: "UPDATE page SET \(damage)") }
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
            try await store.pool.write { try $0.execute(sql: "UPDATE page SET due_at_ms = 0") }
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
            try await store.pool.write { db in
                try db.execute(sql: "UPDATE page SET answers = x'00' WHERE id = (SELECT max(id) FROM page)")
            }
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
            let hurt = try await scene.push()
            // Another process forgets what this one remembers.
            try await store.pool.write { db in
                try db.execute(sql: "UPDATE push SET audience = 'nonsense'")
            }
            store.pushes.clear()
            let other = try await scene.push()
            try await scene.spread()
            #expect(try await scene.claim(9).map(\.pushKey) == [other.key])
            #expect(book.lines(atLeast: .error) != [])
            #expect(hurt.key != other.key)
        }
    }

    private func withLoggedStore(_ book: LogBook, _ body: (SQLiteStore) async throws -> Void) async throws {
        try await withDirectory { directory in
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: HandClock(), logger: book.logger, migrate: true)
            try await body(store)
            try await store.close()
        }
    }
}
