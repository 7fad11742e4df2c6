import BelfryCore
import BelfryTesting
import Dispatch
import GRDB
import Synchronization
import Testing

@testable import BelfryStore

@Suite struct QuotaKeepingTests {
    @Test func `use outlives the process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let clock = HandClock()
            let open = { (migrates: Bool) in
                try SQLiteStore.open(
                    at: path, clock: clock, logger: .strict, migrate: migrates,
                    quotas: Quotas([.devices: 2, .topics: 2, .content: 10_000]))
            }
            let store = try open(true)
            let scene = try await Scene(store: store, clock: clock)
            try await scene.register("a", topics: .replace(["t", "u"]))
            try await scene.register("b")
            _ = try await scene.push(body: String(repeating: "x", count: 6_000))
            try await store.close()
            let next = try open(false)
            let again = scene.seen(by: next)
            await #expect(throws: StoreError.self) { try await again.register("c") }
            await #expect(throws: StoreError.self) { try await again.register("a", topics: .replace(["v"])) }
            await #expect(throws: StoreError.self) {
                try await again.push(body: String(repeating: "x", count: 6_000))
            }
            try await next.close()
        }
    }

    @Test func `what is rolled back is not counted`() async throws {
        struct Mishap: Error {}
        try await withSQLiteStore { store, _ in
            let scene = try await Scene(store: store, clock: HandClock())
            let application = scene.application.key
            try await scene.register("a", topics: .replace(["t"]))
            await #expect(throws: Mishap.self) {
                try await store.writer.write { session in
                    _ = try session.intern(["u", "v"], in: application, at: session.now)
                    throw Mishap()
                }
            }
            let account = QuotaAccount(.topics, of: application)
            #expect(store.quotaBook.use(account) == 1)
            #expect(try await store.pool.read { try $0.quotaUse(account) } == 1)
        }
    }

    @Test func `what another process writes is counted`() async throws {
        try await withSQLiteStore { store, path in
            let scene = try await Scene(store: store, clock: HandClock())
            let other = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: false)
            try await scene.register("a", topics: .replace(["t"]))
            try await scene.seen(by: other).register("b", topics: .replace(["u", "v"]))
            try await scene.register("c", topics: .replace(["w"]))
            let uses = try await store.quotas(of: scene.application.key)
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
    private func withScene(_ body: (Scene, SQLiteStore, TransactionCounter) async throws -> Void) async throws {
        let counter = TransactionCounter()
        try await withDirectory { directory in
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: HandClock(), logger: .strict, migrate: true, for: .copyingFrom,
                observer: counter)
            try await body(try await Scene(store: store, clock: HandClock()), store, counter)
            try await store.close()
        }
    }

    /// A batch as large as one may be.
    private func largestBatch(in scene: Scene) async throws -> [Subscription] {
        let fcm = try await scene.store.create(.of(scene.application, kind: .androidFCM))
        _ = try await scene.registerMany(1_024, on: fcm)
        return (1...1_024).map { number in
            Subscription(device: .token("\(number)"), topics: Set((0..<32).map { "t\((number + $0) % 1_024)" }))
        }
    }

    @Test func `the largest batch of subscriptions is a transaction for each step`() async throws {
        try await withScene { scene, _, counter in
            let batch = try await largestBatch(in: scene)
            counter.reset()
            let refusals = try await scene.store.subscribe(batch, of: scene.application.key)
            #expect(refusals.allSatisfy { $0 == nil })
            // 16 to look devices up, 16 to make topics, 64 to write.
            #expect(counter.count == 96)
        }
    }

    @Test func `another caller's write goes between the steps of a long one`() async throws {
        try await withScene { scene, store, counter in
            let batch = try await largestBatch(in: scene)
            let written = Mutex<Int?>(nil)
            let before = try await store.writer.write { $0.transactions }
            counter.reset {
                store.writer.enqueue("another's") { session in
                    try session.prepared(SecretStatements.insert).run("another's", [UInt8]([1]))
                    written.withLock { $0 = session.transactions }
                }
            }
            _ = try await scene.store.subscribe(batch, of: scene.application.key)
            let after = try await store.writer.write { $0.transactions }
            let transaction = written.withLock { $0 }
            let at = try #require(transaction)
            #expect(at == before + 2, "the second step stands behind it, or shares its transaction")
            #expect(after - before >= 96)
        }
    }

    @Test(arguments: [1, 64, 65, 1_024])
    func `topics are made and deleted in steps`(count: Int) async throws {
        try await withScene { scene, _, counter in
            let topics = try (0..<count).map { try NewTopic(name: "t\($0)", now: scene.clock.now) }
            counter.reset()
            let fates = try await scene.store.create(topics, of: scene.application.key)
            let steps = (count + NewTopic.perWrite - 1) / NewTopic.perWrite
            #expect(counter.count == steps)
            counter.reset()
            #expect(try await scene.store.deleteTopics(fates.map(\.topic.key), of: scene.application.key) == count)
            #expect(counter.count == steps)
        }
    }

    @Test func `a queue of writes is told of, and that it is empty again`() async throws {
        final class Waiting: StoreObserver {
            private let counts = Mutex<[Int]>([])
            var all: [Int] { counts.withLock { $0 } }
            func writesWaiting(_ count: Int) { counts.withLock { $0.append(count) } }
            func transactionEnded(after duration: Duration) {}
        }
        let waiting = Waiting()
        try await withDirectory { directory in
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: HandClock(), logger: .strict, migrate: true, for: .copyingFrom,
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
