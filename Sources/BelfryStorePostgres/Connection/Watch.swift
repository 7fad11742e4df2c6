import BelfryCore
import Dispatch
import Logging
import PostgreSQL
import Synchronization

/// Does every now and then what nobody waits for.
final class Watch: Sendable {
    // SAFETY: set once, and a dispatch source may be used from anywhere.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let crier: Crier
    private let logger: Logger
    private let rounds = Atomic(0)
    private let isKeepingHouse = Atomic(false)

    private static let interval = DispatchTimeInterval.milliseconds(40)
    /// Rounds between two looks at the house.
    private static let housekeepingEvery = 25

    init(crier: Crier, logger: Logger) {
        self.crier = crier
        self.logger = logger
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "belfry.store.watch"))
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(5))
    }

    deinit { timer.cancel() }

    func start(_ store: PostgresStore) {
        timer.setEventHandler { [weak self, weak store] in
            guard let self, let store else { return }
            crier.speak()
            let round = rounds.add(1, ordering: .relaxed).newValue
            if round.isMultiple(of: Self.housekeepingEvery) { keepHouse(of: store) }
        }
        timer.resume()
    }

    func stop() { timer.cancel() }

    /// One node at a time does it, and the others pass by.
    private func keepHouse(of store: PostgresStore) {
        guard isKeepingHouse.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        store.pool.enqueue { [weak store] connection in
            guard let store else { return }
            let session = try store.begin(on: connection)
            guard try session.prepared(SessionStatements.housekeeping).first(as: { $0.bool(0) }) ?? false else {
                return
            }
            try Demolition(session: session).resume()
            try Retirement(session: session).resume()
            try TopicBurial(session: session).step()
            try connection.prepared(SessionStatements.commit).run()
            store.publish(session.effects)
        } then: { [self] result in
            isKeepingHouse.store(false, ordering: .releasing)
            guard case .failure(let error) = result else { return }
            logger.debug("housekeeping put off", metadata: ["error": "\(error)"])
        }
    }
}
