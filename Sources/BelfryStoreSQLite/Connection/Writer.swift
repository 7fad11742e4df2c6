import BelfryCore
import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// The one writer of this process: writes that wait together share a transaction, and so the wait for the disk.
///
/// Each caller is answered after the commit. A write that throws takes only itself back. Writes run in the order of
/// their calls, on GRDB's writer queue, never on the cooperative pool.
final class Writer: Sendable {
    private let pool: DatabasePool
    private let session: WriteSession
    private let logger: Logger
    private let state = Mutex(State())
    /// Called after a commit and before its callers are answered, with what the commit changed.
    private let committed: @Sendable (WriteSession.Effects, Writer) -> Void

    /// More waiting writes than this are turned away.
    static let waitingMax = 10_000
    /// A transaction takes no more writes once it has worked this long, or as long as the last commit took if that is
    /// more: so a slow disk gets larger transactions, and nobody waits long for a fast one.
    private static let patience = Duration.milliseconds(2)
    private static let patienceMax = Duration.milliseconds(50)

    private struct State {
        var waiting: [Job] = []
        var position = 0
        var isDraining = false
        var isClosed = false

        var count: Int { waiting.count - position }

        mutating func next() -> Job? {
            guard position < waiting.count else {
                waiting.removeAll(keepingCapacity: true)
                position = 0
                return nil
            }
            let job = waiting[position]
            position += 1
            // Writes that never let up must not leave those behind them in memory.
            if position >= Writer.waitingMax / 10 {
                waiting.removeFirst(position)
                position = 0
            }
            return job
        }

        mutating func takeAll() -> [Job] {
            defer { (waiting, position) = ([], 0) }
            return Array(waiting[position...])
        }
    }

    /// A write that waits for its turn.
    struct Job: Sendable {
        /// Does the work, and returns what answers the caller once it is committed.
        let run: @Sendable (WriteSession) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    init(
        pool: DatabasePool, session: WriteSession, logger: Logger,
        committed: @escaping @Sendable (WriteSession.Effects, Writer) -> Void
    ) {
        self.pool = pool
        self.session = session
        self.logger = logger
        self.committed = committed
    }

    /// Runs `body` inside a transaction shared with others and returns when that is durable.
    ///
    /// `body` may run more than once; what an earlier run changed was rolled back then.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (WriteSession) throws -> Value
    ) async throws -> Value {
        let signature = AuditSignature.pending.flatMap { $0.isKept ? nil : $0 }
        return try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                run: { session in
                    let value = try body(session)
                    try signature?.write(in: session)
                    return {
                        signature?.noteCommit()
                        continuation.resume(returning: value)
                    }
                },
                fail: { continuation.resume(throwing: $0.asStoreError) })
            submit(job)
        }
    }

    /// Queues work that nobody waits for, such as housekeeping; a failure is logged.
    func enqueue(_ name: StaticString, _ body: @escaping @Sendable (WriteSession) throws -> Void) {
        let logger = logger
        submit(
            Job(
                run: { session in
                    try body(session)
                    return {}
                },
                fail: { error in
                    logger.debug("housekeeping put off", metadata: ["work": "\(name)", "error": "\(error)"])
                }))
    }

    /// Turns new writes away and returns when those that waited are done.
    func close() async {
        await withCheckedContinuation { continuation in
            let last = Job(run: { _ in { continuation.resume() } }, fail: { _ in continuation.resume() })
            submit(last, isLast: true)
        }
    }

    private enum Admission { case queued, wake, overloaded, closed }

    /// Queues a write, or fails it when too many wait.
    func submit(_ job: Job, isLast: Bool = false) {
        let admission = state.withLock { state -> Admission in
            if state.isClosed { return .closed }
            guard isLast || state.count < Self.waitingMax else { return .overloaded }
            state.waiting.append(job)
            state.isClosed = isLast
            if state.isDraining { return .queued }
            state.isDraining = true
            return .wake
        }
        switch admission {
        case .queued: break
        case .wake: pool.asyncWriteWithoutTransaction { self.drain($0) }
        case .overloaded: job.fail(StoreError.overloaded(retryAfter: .seconds(1)))
        case .closed: job.fail(StoreError.unavailable("the database is closed"))
        }
    }

    /// Runs one batch, and comes back for the next: between two batches the queue is free for a checkpoint.
    private func drain(_ db: Database, patience: Duration = Writer.patience) {
        guard let job = state.withLock({ $0.next() }) else { return stopDraining() }
        let commitTime = runBatch(startingWith: job, patience: patience, db)
        let patience = min(max(Self.patience, commitTime), Self.patienceMax)
        pool.asyncWriteWithoutTransaction { self.drain($0, patience: patience) }
    }

    private func stopDraining() {
        let wasEmpty = state.withLock { state in
            if state.count == 0 { state.isDraining = false }
            return !state.isDraining
        }
        if !wasEmpty { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    /// Returns how long the commit took.
    private func runBatch(startingWith first: Job, patience: Duration, _ db: Database) -> Duration {
        var batch = Batch()
        do {
            try session.begin(db)
        } catch {
            fail([first] + state.withLock { $0.takeAll() }, error)
            return .zero
        }
        let started = ContinuousClock.now
        var job: Job? = first
        while let current = job {
            batch.jobs.append(current)
            let changes = sqlite3_total_changes64(db.sqliteConnection)
            do {
                batch.answers.append(try current.run(session))
            } catch  where error.isOfTheDatabaseItself || !db.isInsideTransaction {
                session.rollback(db)
                fail(batch.jobs, error)
                return .zero
            } catch  where sqlite3_total_changes64(db.sqliteConnection) == changes {
                batch.answers.append { current.fail(error) }
            } catch {
                session.rollback(db)
                for job in batch.jobs { runAlone(job, db) }
                return .zero
            }
            job = started.duration(to: .now) < patience ? state.withLock { $0.next() } : nil
        }
        return commit(batch, db)
    }

    /// Runs one write in a transaction of its own, after one of its batch had to be taken back.
    private func runAlone(_ job: Job, _ db: Database) {
        do {
            try session.begin(db)
            let answer = try job.run(session)
            _ = commit(Batch(jobs: [job], answers: [answer]), db)
        } catch {
            session.rollback(db)
            fail([job], error)
        }
    }

    private func commit(_ batch: Batch, _ db: Database) -> Duration {
        let started = ContinuousClock.now
        do {
            committed(try session.commit(db), self)
        } catch {
            session.rollback(db)
            fail(batch.jobs, error)
            return .zero
        }
        let time = started.duration(to: .now)
        for answer in batch.answers { answer() }
        return time
    }

    private func fail(_ jobs: [Job], _ error: any Error) {
        for job in jobs { job.fail(error) }
    }

    private struct Batch {
        var jobs: [Job] = []
        var answers: [@Sendable () -> Void] = []
    }
}
