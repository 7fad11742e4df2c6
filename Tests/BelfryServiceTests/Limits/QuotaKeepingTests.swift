import BelfryTesting
import Dispatch
import GRDB
import Synchronization
import Testing

@testable import BelfryService

@Suite struct QuotaKeepingTests {
    @Test func `use outlives the process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let clock = ManualClock()
            let open = { (migrates: Bool) in
                try SQLiteStore.open(
                    at: path, clock: clock, logger: .strict, migrate: migrates,
                    quotas: Quotas([.devices: 2, .topics: 2, .content: 10_000]))
            }
            let store = try open(true)
            let fixture = try await TestStore(store: store, clock: clock)
            try await fixture.register("a", topics: .replace(["t", "u"]))
            try await fixture.register("b")
            _ = try await fixture.push(body: String(repeating: "x", count: 6_000))
            try await store.close()
            let next = try open(false)
            let again = fixture.seen(by: next)
            await #expect(throws: StoreError.self) { try await again.register("c") }
            await #expect(throws: StoreError.self) { try await again.register("a", topics: .replace(["v"])) }
            await #expect(throws: StoreError.self) {
                try await again.push(body: String(repeating: "x", count: 6_000))
            }
            try await next.close()
        }
    }

    @Test func `rolled-back writes are not counted`() async throws {
        struct TestError: Error {}
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let application = fixture.application.key
            try await fixture.register("a", topics: .replace(["t"]))
            await #expect(throws: TestError.self) {
                try await store.writer.write { session in
                    _ = try session.intern(["u", "v"], in: application, at: session.now)
                    throw TestError()
                }
            }
            let account = QuotaAccount(.topics, of: application)
            #expect(store.quotaCounts.use(account) == 1)
            #expect(try await store.pool.read { try $0.quotaUse(account) } == 1)
        }
    }

    @Test func `many rows are counted once, beside the writer`() async throws {
        try await withSQLiteStore(quotas: Quotas([.topics: SQLiteWriteSession.rowsCountedMax + 2])) { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let account = QuotaAccount(.topics, of: fixture.application.key)
            try await store.writer.write { session in
                let insert = try session.prepared(SQLiteTopicStatements.insert)
                for number in 0..<SQLiteWriteSession.rowsCountedMax {
                    try insert.run(fixture.application.key, "topic \(number)", Instant?.none)
                }
            }
            await #expect(throws: UncountedUse.self) { try await store.writer.write { try $0.use(account) } }
            #expect(store.quotaCounts.use(account) == nil)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in ["a", "b"] {
                    group.addTask { _ = try await fixture.register(name, topics: .replace([name])) }
                }
                try await group.waitForAll()
            }
            #expect(store.quotaCounts.use(account) == SQLiteWriteSession.rowsCountedMax + 2)
            await #expect(throws: StoreError.self) { try await fixture.register("c", topics: .replace(["c"])) }
            store.quotaCounts.forgetAll()
            await #expect(throws: StoreError.self) { try await fixture.register("c", topics: .replace(["c"])) }
        }
    }

    @Test func `another process's writes are counted`() async throws {
        try await withSQLiteStore { store, path in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let other = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            try await fixture.register("a", topics: .replace(["t"]))
            try await fixture.seen(by: other).register("b", topics: .replace(["u", "v"]))
            try await fixture.register("c", topics: .replace(["w"]))
            let uses = try await store.quotas(of: fixture.application.key)
            #expect(uses.prefix(2).map(\.use) == [3, 4])
            try await other.close()
        }
    }
}

/// Counts transactions, and has something done when the first of them ends.
final class TransactionCounter: StoreObserver {
    private let state = Mutex((count: 0, first: (@Sendable () -> Void)?.none))

    var count: Int { state.withLock { $0.count } }

    func reset(atFirst body: (@Sendable () -> Void)? = nil) { state.withLock { $0 = (0, body) } }

    func writesWaiting(_ count: Int) {}

    func transactionEnded(after duration: Duration) {
        let body = state.withLock { state in
            state.count += 1
            defer { state.first = nil }
            return state.first
        }
        body?()
    }
}

@Suite struct WriterStepTests {
    private func withFixture(_ body: (TestStore, SQLiteStore, TransactionCounter) async throws -> Void) async throws {
        let counter = TransactionCounter()
        try await withDirectory { directory in
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: ManualClock(), logger: .strict, migrate: true,
                for: .copyingFrom,
                observer: counter)
            try await body(try await TestStore(store: store, clock: ManualClock()), store, counter)
            try await store.close()
        }
    }

    /// A batch as large as one may be.
    private func largestBatch(in fixture: TestStore) async throws -> [Subscription] {
        let fcm = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
        _ = try await fixture.registerMany(1_024, on: fcm)
        return (1...1_024).map { number in
            Subscription(device: .token("\(number)"), topics: Set((0..<32).map { "t\((number + $0) % 1_024)" }))
        }
    }

    @Test func `the largest subscription batch is one transaction per step`() async throws {
        try await withFixture { fixture, _, counter in
            let batch = try await largestBatch(in: fixture)
            counter.reset()
            let refusals = try await fixture.store.subscribe(batch, of: fixture.application.key)
            #expect(refusals.allSatisfy { $0 == nil })
            // 16 to look devices up, 16 to make topics, 64 to write.
            #expect(counter.count == 96)
        }
    }

    @Test func `another caller's write fits between steps of a long one`() async throws {
        try await withFixture { fixture, store, counter in
            let batch = try await largestBatch(in: fixture)
            let written = Mutex<Int?>(nil)
            let before = try await store.writer.write { $0.transactions }
            counter.reset {
                store.writer.enqueue("another's") { session in
                    try session.prepared(SecretStatements.insert).run("another's", [UInt8]([1]))
                    written.withLock { $0 = session.transactions }
                }
            }
            _ = try await fixture.store.subscribe(batch, of: fixture.application.key)
            let after = try await store.writer.write { $0.transactions }
            let transaction = written.withLock { $0 }
            let at = try #require(transaction)
            #expect(at == before + 2, "the second step stands behind it, or shares its transaction")
            #expect(after - before >= 96)
        }
    }

    @Test(arguments: [1, 64, 65, 1_024])
    func `topics are made and deleted in steps`(count: Int) async throws {
        try await withFixture { fixture, _, counter in
            let topics = try (0..<count).map { try NewTopic(name: "t\($0)", now: fixture.clock.now) }
            counter.reset()
            let fates = try await fixture.store.create(topics, of: fixture.application.key)
            let steps = (count + NewTopic.perWrite - 1) / NewTopic.perWrite
            #expect(counter.count == steps)
            counter.reset()
            #expect(try await fixture.store.deleteTopics(fates.map(\.topic.key), of: fixture.application.key) == count)
            #expect(counter.count == steps)
        }
    }

    @Test func `a write queue is reported, then its emptiness`() async throws {
        final class Waiting: StoreObserver {
            private let counts = Mutex<[Int]>([])
            var all: [Int] { counts.withLock { $0 } }
            func writesWaiting(_ count: Int) { counts.withLock { $0.append(count) } }
            func transactionEnded(after duration: Duration) {}
        }
        let waiting = Waiting()
        try await withDirectory { directory in
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: ManualClock(), logger: .strict, migrate: true,
                for: .copyingFrom,
                observer: waiting)
            let gate = DispatchSemaphore(value: 0)
            store.pool.asyncWriteWithoutTransaction { _ in gate.wait() }
            for _ in 0..<5 { store.writer.enqueue("waits") { _ in } }
            gate.signal()
            try await store.close()
        }
        // The first of them does not wait any more.
        #expect(waiting.all.first ?? 0 >= 4)
        #expect(waiting.all.last == 0)
    }
}
