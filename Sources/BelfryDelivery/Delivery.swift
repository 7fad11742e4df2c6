package import BelfryCore
package import Logging
import ServiceLifecycle

/// The whole way of a push from acceptance to its last answer: spreaders turn walks into pages, couriers carry pages. A
/// scheduler accepts those that wait for their time.
///
/// Spreaders and couriers work twice: once for every lane, and once for the urgent lane alone, so that a house full of broadcasts
/// never keeps an urgent push waiting. All that is known is in the store; a delivery that dies is replaced by another.
package struct Delivery: Service {
    private let spreaders: [Spreader]
    private let pools: [CourierPool]
    private let scheduler: Scheduler
    private let store: any DeliveryStore
    private let clock: any WallClock
    private let poll: Duration
    private let logger: Logger
    /// Closed when the delivery is told to end.
    private let end = Bell()

    package init(
        store: any ApplicationStore & DeviceStore & PushStore & DeliveryStore & ScheduleStore & AuditStore
            & ConnectionFaultStore,
        providers: any ProviderDirectory, clock: any WallClock, policy: RetryPolicy = RetryPolicy(),
        options: DeliveryOptions = DeliveryOptions(), witness: any Witness = NoWitness(),
        random: @escaping @Sendable () -> Double, logger: Logger
    ) {
        let courier = Courier(
            store: store, providers: providers, policy: policy, clock: clock, random: random,
            deathWatches: DeathWatches(prototype: options.deathWatch),
            faults: ConnectionFaultReporter(store: store, clock: clock, logger: logger), witness: witness,
            logger: logger)
        let loop = PatientLoop(clock: clock, pause: options.poll, logger: logger)
        spreaders = [Lane.allCases, [.urgent]].map { lanes in
            Spreader(store: store, lanes: lanes, options: options, loop: loop)
        }
        pools = [(Lane.allCases, options.pagesInAirMax), ([.urgent], options.urgentPagesInAirMax)].map { lanes, pages in
            CourierPool(
                store: store, providers: providers, courier: courier, lanes: lanes, pagesInAirMax: pages,
                options: options, loop: loop)
        }
        scheduler = Scheduler(store: store, clock: clock, poll: options.poll, witness: witness, loop: loop)
        self.store = store
        self.clock = clock
        poll = options.poll
        self.logger = logger
    }

    private var bells: [Bell] { spreaders.map(\.bell) + pools.map(\.bell) + [scheduler.bell] }

    /// How many pages are being carried.
    package var pagesInAir: Int { pools.reduce(0) { $0 + $1.pagesInAir } }

    /// From now on nothing is claimed; what was, comes to its end.
    package func stopClaiming() {
        for bell in bells { bell.close() }
    }

    /// Works until cancelled or asked to shut down gracefully; then finishes the pages in the air and returns. Cancelled, it
    /// hands back what is not sent yet.
    package func run() async throws {
        let bells = bells
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for spreader in spreaders { group.addTask { try await spreader.run() } }
                for pool in pools { group.addTask { try await pool.run() } }
                group.addTask { try await scheduler.run() }
                let bystanders = Bystanders(store: store, clock: clock, poll: poll, bells: bells)
                group.addTask { await bystanders.passHintsOn() }
                group.addTask { try await bystanders.ringAtIntervals() }
                for _ in bells { try await group.next() }
                group.cancelAll()
            }
            // A service that ends before it is told to would take the others with it.
            await end.wait()
        } onGracefulShutdown: {
            stopClaiming()
            end.close()
        }
    }
}

/// Those who ring the bells: the store's hints, and a slow interval behind them, since hints may be missing.
private struct Bystanders: Sendable {
    let store: any DeliveryStore
    let clock: any WallClock
    let poll: Duration
    let bells: [Bell]

    func passHintsOn() async {
        for await _ in store.hints() {
            for bell in bells { bell.ring() }
        }
        // The stream ends with the task or the store; the workers decide when the delivery is over.
        await Bell().wait()
    }

    func ringAtIntervals() async throws {
        while true {
            try await clock.sleep(for: poll)
            for bell in bells { bell.ring() }
        }
    }
}
