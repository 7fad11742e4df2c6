import BelfryTesting
import Synchronization
import Testing

@testable import BelfryService

@Suite struct DeliveryWorkerTests {
    private let clock = ManualClock()
    private let store: MemoryStore

    init() { store = MemoryStore(clock: clock) }

    @Test func `a worker cancelled before sending returns its batch at once`() async throws {
        try await fanOutOneBatch()
        let batch = try #require(try await claim())
        await worker.deliver([batch])
        let again = try #require(try await claim())
        #expect(again.key == batch.key && again.attempt == 2 && !again.isLapsed)
        #expect(store.violations().isEmpty)
    }

    @Test func `a batch that may have been sent before lapses again`() async throws {
        try await fanOutOneBatch()
        _ = try await claim()
        clock.advance(by: .seconds(60))
        let lapsed = try #require(try await claim())
        #expect(lapsed.isLapsed)
        await worker.deliver([lapsed])
        #expect(try await claim() == nil)
        clock.advance(by: .seconds(60))
        #expect(try await claim()?.isLapsed == true)
    }

    @Test func `a push sent at most once waits for its claim`() async throws {
        try await fanOutOneBatch(.atMostOnce)
        let batch = try #require(try await claim())
        let disk = CountedDisk(base: store)
        let provider = FakeProvider(ledger: Ledger(), clock: clock) { _, _, _, _ in
            #expect(disk.waits.withLock { $0 } == 1)
            return (.accepted, true)
        }
        await DeliveryWorker.byHand(disk, provider, clock: clock).deliver([batch])
        #expect(disk.waits.withLock { $0 } == 1)
        #expect(provider.ledger.totalAttempts == 1)
    }

    @Test func `a settlement that fails is tried again`() async throws {
        try await fanOutOneBatch()
        let batch = try #require(try await claim())
        let disk = FullDisk(base: store, failures: 3)
        let provider = FakeProvider(clock: clock)
        let worker = DeliveryWorker.byHand(disk, provider, clock: clock)
        async let delivery: Void = worker.deliver([batch])
        for _ in 0..<3 {
            while !clock.advanceToNextSleeper() { await Task.yield() }
        }
        await delivery
        clock.advance(by: .seconds(60))
        #expect(try await claim() == nil, "it was settled")
        #expect(provider.ledger.totalAttempts == 1)
    }

    @Test func `a fault before sending leaves no device unknown`() async throws {
        try await fanOutOneBatch(.atMostOnce)
        let batch = try #require(try await claim())
        await DeliveryWorker.byHand(store, CutOffProviders(), clock: clock).deliver([batch])
        let again = try #require(try await claim())
        #expect(again.key == batch.key && !again.isLapsed)
    }

    @Test func `a batch whose load outlasts the claim is unsent`() async throws {
        try await fanOutOneBatch()
        let batch = try #require(try await claim())
        let provider = FakeProvider(clock: clock)
        await DeliveryWorker.byHand(SlowStore(base: store, clock: clock), provider, clock: clock).deliver([batch])
        #expect(provider.ledger.totalAttempts == 0)
        let again = try #require(try await claim())
        #expect(again.key == batch.key && !again.isLapsed)
    }

    @Test func `a claim counts from before it was made`() async throws {
        try await fanOutOneBatch()
        let claimedAt = clock.now
        let batch = try #require(try await claim())
        clock.advance(by: .seconds(30))
        let provider = FakeProvider(clock: clock)
        await DeliveryWorker.byHand(store, provider, clock: clock).deliver([batch], claimedAt: claimedAt)
        #expect(provider.ledger.totalAttempts == 0)
    }

    @Test func `urgent fan-outs leave a part to the others`() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        for number in 1...9 as ClosedRange<UInt64> {
            _ = try await store.accept(.sample(number, to: platform, lane: .urgent))
        }
        _ = try await store.accept(.sample(10, to: platform, lane: .bulk))
        let noted = NotedSteps(base: store)
        let worker = FanOutWorker(
            store: noted, lanes: Lane.allCases, options: DeliveryOptions(),
            loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: CapturedLog().logger))
        async let work: Void = worker.run()
        while noted.lanes.withLock({ $0.count }) < 10 { await Task.yield() }
        worker.wakeSignal.close()
        try await work
        #expect(noted.lanes.withLock { $0.firstIndex(of: .bulk) } == 4)
    }

    @Test(.timeLimit(.minutes(20))) func `a fan-out that an outage cuts off keeps no lease`() async throws {
        let platform = try await store.create(.numbered(1, of: try await store.create(.numbered(1)).key))
        let push = try await store.accept(.sample(to: platform))
        let worker = FanOutWorker(
            store: FullDisk(base: store, failures: 3), lanes: Lane.allCases, options: DeliveryOptions(),
            loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: CapturedLog().logger))
        async let work: Void = worker.run()
        for _ in 0..<3 {
            while !clock.advanceToNextSleeper() { await Task.yield() }
        }
        while try await store.receipt(push.receiptID)?.isFannedOut != true { await Task.yield() }
        worker.wakeSignal.close()
        try await work
    }

    private var worker: DeliveryWorker {
        .byHand(CalledOffStore(base: store), FakeProvider(clock: clock), clock: clock)
    }

    private func claim() async throws -> Batch? {
        try await store.claimBatches(BatchClaim(burstsMax: 1, roomElsewhere: 1, lease: .seconds(60))).first
    }

    private func fanOutOneBatch(_ guarantee: Push.Guarantee = .atLeastOnce) async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        _ = try await store.register(.sample(1), as: nil, on: platform)
        _ = try await store.accept(.sample(to: platform, guarantee: guarantee))
        for fanOut in try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)) {
            let devices = try await store.devices(in: fanOut, after: nil, limit: 9)
            #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [devices], isLast: true)))
        }
    }
}

extension DeliveryWorker {
    /// A worker that a test calls batch by batch.
    static func byHand(_ store: any DeliveryStore, _ provider: any Provider, clock: any WallClock) -> DeliveryWorker {
        byHand(store, FakeProviders { _ in provider }, clock: clock)
    }

    static func byHand(
        _ store: any DeliveryStore, _ providers: any ProviderDirectory, clock: any WallClock
    ) -> DeliveryWorker {
        let log = CapturedLog().logger
        return DeliveryWorker(
            store: store, providers: providers, policy: RetryPolicy(), clock: clock,
            lease: .seconds(60), begunWithin: .seconds(30), random: { 0.5 },
            deadTokenBreakers: DeadTokenBreakers(prototype: DeadTokenBreaker()),
            credentials: CredentialsJudge(store: store, clock: clock, lease: .seconds(60), logger: log),
            faults: ConnectionFaultReporter(store: store, clock: clock, logger: log), pushObserver: NoPushObserver(),
            linkKeys: NoLinkKeys(), logger: log)
    }
}

/// Counts how often the disk was waited for.
private final class CountedDisk: ForwardedPorts {
    let base: any DeliveryPorts
    let waits = Mutex(0)

    init(base: any DeliveryPorts) { self.base = base }

    func awaitDisk() async throws { waits.withLock { $0 += 1 } }
}

/// Fails to store settlements and steps of fan-outs some times.
private final class FullDisk: ForwardedPorts {
    let base: any DeliveryPorts
    let failures: Mutex<Int>

    init(base: any DeliveryPorts, failures: Int) {
        self.base = base
        self.failures = Mutex(failures)
    }

    func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        try fail()
        return try await base.settle(settlements)
    }

    func advance(_ step: FanOutStep) async throws -> Bool {
        try fail()
        return try await base.advance(step)
    }

    private func fail() throws {
        let fails = failures.withLock { left in
            defer { left = max(0, left - 1) }
            return left > 0
        }
        if fails { throw StoreError.overloaded(retryAfter: .seconds(1)) }
    }
}

/// Takes as long to load as a worker has to begin.
private struct SlowStore: ForwardedPorts {
    let base: any DeliveryPorts
    let clock: ManualClock

    func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        clock.advance(by: .seconds(30))
        return try await base.load(batches)
    }
}

/// Notes the lanes of the fan-outs that are stepped, in their order.
private final class NotedSteps: ForwardedPorts {
    let base: any DeliveryPorts
    let lanes = Mutex<[Lane]>([])

    init(base: any DeliveryPorts) { self.base = base }

    func advance(_ step: FanOutStep) async throws -> Bool {
        lanes.withLock { $0.append(step.fanOut.lane) }
        return try await base.advance(step)
    }
}

/// Makes no provider, as where the server stops meanwhile.
private struct CutOffProviders: ProviderDirectory {
    func provider(for platform: Platform) async throws -> any Provider { throw CancellationError() }

    func room() -> [Key<Platform>: Int] { [:] }
}

/// Its reads are cut off, as those of a task that is cancelled are.
private struct CalledOffStore: ForwardedPorts {
    let base: any DeliveryPorts

    func load(_ batches: [Batch]) async throws -> [BatchLoad?] { throw CancellationError() }
}
