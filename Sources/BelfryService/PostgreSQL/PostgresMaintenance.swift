import Dispatch
import Logging
import PostgreSQL
import Synchronization

final class PostgresMaintenance: Sendable {
    // SAFETY: set once, and a dispatch source may be used from anywhere.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let changeNotifier: ChangeNotifier
    private let logger: Logger
    private let putOffs: PutOffs
    private let rounds = Atomic(0)
    private let jobs: [MaintenanceJob]

    private static let interval = DispatchTimeInterval.milliseconds(40)
    /// Rounds between two checks of the jobs.
    private static let jobsEvery = 25

    init(changeNotifier: ChangeNotifier, logger: Logger) {
        self.changeNotifier = changeNotifier
        self.logger = logger
        putOffs = PutOffs(logger)
        let platformRest = Mutex<PlatformRest?>(nil)
        jobs = [
            MaintenanceJob(
                name: "housekeeping", lock: PostgresSessionStatements.housekeeping,
                steps: [
                    { try ApplicationDeletion(session: $0).resume() },
                    { session in
                        try platformRest.withLock {
                            $0 = try PlatformDeletion(session: session).resume($0)
                            return $0 != nil
                        }
                    },
                    { session in
                        try TopicDeletion(session: session).step()
                        return false
                    },
                ]),
            MaintenanceJob(name: "settling", lock: PostgresSessionStatements.settling) {
                try DeviceHorizon(session: $0).step()
            },
            MaintenanceJob(name: "merging", lock: PostgresSessionStatements.merging) {
                try PostgresSubscriptionMerge(session: $0).step()
            },
            MaintenanceJob(name: "indexing", lock: PostgresSessionStatements.indexing) {
                try DeviceSearchIndex(session: $0).step()
            },
        ]
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "belfry.store.watch"))
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(5))
    }

    deinit { timer.cancel() }

    func start(_ store: PostgresStore) {
        timer.setEventHandler { [weak self, weak store] in
            guard let self, let store else { return }
            changeNotifier.flush()
            let round = rounds.add(1, ordering: .relaxed).newValue
            let isTime = round.isMultiple(of: Self.jobsEvery)
            for job in jobs where isTime || job.hasMore { job.begin(in: store, putOffs) }
            guard isTime else { return }
            store.sharedUse.compare(in: store, logger)
            store.listeners.refresh(in: store.pool, logger)
        }
        timer.resume()
    }

    func stop() { timer.cancel() }
}

/// A job that one node does at a time, while the others skip it.
private final class MaintenanceJob: Sendable {
    private let name: String
    /// The lock that decides whether it is this node's turn.
    private let lock: String
    /// Each has a transaction of its own: it holds one application's row at a time, and one that fails stops no other. It returns
    /// whether there is more to do at once.
    private let steps: [@Sendable (PostgresWriteSession) throws -> Bool]
    private let isUnderWay = Atomic(false)
    private let more = Atomic(false)
    var hasMore: Bool { more.load(ordering: .relaxed) }

    init(name: String, lock: String, steps: [@Sendable (PostgresWriteSession) throws -> Bool]) {
        self.name = name
        self.lock = lock
        self.steps = steps
    }

    /// A job of one step, which is taken once a second.
    convenience init(name: String, lock: String, step: @escaping @Sendable (PostgresWriteSession) throws -> Void) {
        self.init(
            name: name, lock: lock,
            steps: [
                { session in
                    try step(session)
                    return false
                }
            ])
    }

    /// Starts the job unless it is running.
    func begin(in store: PostgresStore, _ putOffs: PutOffs) {
        guard isUnderWay.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        store.pool.enqueue { [self, weak store] connection in
            more.store(false, ordering: .relaxed)
            guard let store else { return }
            let results = steps.map { step in Result { try take(step, in: store, on: connection) } }
            more.store(results.contains { (try? $0.get()) == true }, ordering: .relaxed)
            for result in results { _ = try result.get() }
        } then: { [self] result in
            isUnderWay.store(false, ordering: .releasing)
            putOffs.note(result, of: name)
        }
    }

    /// False where it is another node's turn.
    private func take(
        _ step: (PostgresWriteSession) throws -> Bool, in store: PostgresStore, on connection: Connection
    ) throws -> Bool {
        // What the step before left open.
        _ = connection.rollBack()
        let session = try store.begin(on: connection)
        guard try session.prepared(lock).first(as: { $0.bool(0) }) ?? false else { return false }
        let hasMore = try step(session)
        try session.commit()
        store.publish(session.effects)
        return hasMore
    }
}
