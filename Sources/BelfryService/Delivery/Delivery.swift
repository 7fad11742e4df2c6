package import Logging
import ServiceLifecycle
import Synchronization

/// Delivers accepted pushes: fan-out workers write batches, delivery workers send them, and the scheduler accepts due
/// schedules.
///
/// Fan-out and delivery workers each run twice: once for all lanes, and once for the urgent lane alone, so that a
/// server full of broadcasts never delays an urgent push. All work is in the store, so another instance can take over.
package struct Delivery: Service {
    private let fanOutWorkers: [FanOutWorker]
    private let pools: [DeliveryWorkerPool]
    private let scheduler: Scheduler
    private let store: any DeliveryStore
    private let clock: any WallClock
    private let poll: Duration
    private let logger: Logger
    /// Closed when the delivery is told to end.
    private let end = WakeSignal()

    package init(
        store: any DeliveryPorts, providers: any ProviderDirectory, clock: any WallClock,
        policy: RetryPolicy = RetryPolicy(),
        options: DeliveryOptions = DeliveryOptions(), pushObserver: any PushObserver = NoPushObserver(),
        linkKeys: any LinkKeys = NoLinkKeys(), random: @escaping @Sendable () -> Double, logger: Logger
    ) {
        DeliveryMetric.declare()
        let worker = DeliveryWorker(
            store: store, providers: providers, policy: policy, clock: clock, lease: options.lease,
            begunWithin: options.begunWithin, random: random,
            deadTokenBreakers: DeadTokenBreakers(prototype: options.deadTokenBreaker),
            credentials: CredentialsJudge(store: store, clock: clock, lease: options.lease, logger: logger),
            faults: ConnectionFaultReporter(store: store, clock: clock, logger: logger), pushObserver: pushObserver,
            linkKeys: linkKeys, logger: logger)
        let loop = RetryingLoop(clock: clock, pause: options.poll, logger: logger)
        fanOutWorkers = [Lane.allCases, [.urgent]].map { lanes in
            FanOutWorker(store: store, lanes: lanes, options: options, loop: loop)
        }
        pools = [(Lane.allCases, options.batchesInFlightMax), ([.urgent], options.urgentBatchesInFlightMax)].map {
            lanes, batches in
            DeliveryWorkerPool(
                store: store, providers: providers, worker: worker, lanes: lanes, batchesInFlightMax: batches,
                options: options, loop: loop)
        }
        scheduler = Scheduler(store: store, clock: clock, poll: options.poll, pushObserver: pushObserver, loop: loop)
        self.store = store
        self.clock = clock
        poll = options.poll
        self.logger = logger
    }

    private var wakers: [Waker] {
        fanOutWorkers.map { Waker(work: .fanOuts, wakeSignal: $0.wakeSignal) }
            + pools.map { Waker(work: .batches, wakeSignal: $0.wakeSignal) }
            + [Waker(work: .schedules, wakeSignal: scheduler.wakeSignal)]
    }

    /// The number of batches that are being sent.
    package var batchesInFlight: Int { pools.reduce(0) { $0 + $1.batchesInFlight } }

    /// Stops claiming; work already claimed is finished.
    package func stopClaiming() {
        for waker in wakers { waker.wakeSignal.close() }
    }

    /// Works until cancelled or asked to shut down gracefully; then finishes the batches in flight and returns. When
    /// cancelled, it hands back what is not sent yet.
    package func run() async throws {
        let wakers = wakers
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for fanOutWorker in fanOutWorkers { group.addTask { try await fanOutWorker.run() } }
                for pool in pools { group.addTask { try await pool.run() } }
                group.addTask { try await scheduler.run() }
                for waker in wakers { group.addTask { await waker.forwardHints(from: store) } }
                group.addTask { try await signalAtIntervals(wakers) }
                for _ in wakers { try await group.next() }
                group.cancelAll()
            }
            // A service that ends before it is told to would end the others.
            await end.wait()
        } onGracefulShutdown: {
            stopClaiming()
            end.close()
        }
    }

    /// Hints may be missing.
    private func signalAtIntervals(_ wakers: [Waker]) async throws {
        while true {
            try await clock.sleep(for: poll)
            for waker in wakers { waker.wakeSignal.raise() }
        }
    }
}

/// Wakes a worker when its work may have fallen due.
private struct Waker: Sendable {
    let work: DueWork
    let wakeSignal: WakeSignal

    func forwardHints(from store: any DeliveryStore) async {
        for await _ in store.hints(of: work) { wakeSignal.raise() }
        // The stream ends with the task or the store; the workers decide when the delivery is over.
        await WakeSignal().wait()
    }
}
