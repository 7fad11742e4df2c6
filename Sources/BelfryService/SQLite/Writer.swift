import Dispatch
import Foundation
import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// The one writer of this process: waiting writes share a transaction, and so its flush.
///
/// Each caller is answered when the commit is on the disk. While it is being flushed, the next transaction takes in the
/// writes that arrive. A write that throws undoes only itself. Writes run in the order of their calls, on GRDB's writer
/// queue, never on the cooperative pool.
final class Writer: Sendable {
    private let pool: DatabasePool
    private let session: SQLiteWriteSession
    private let flusher: LogFlusher
    private let observer: any StoreObserver
    private let putOffs: PutOffs
    private let state = Mutex(WriterQueue())
    /// Signalled when the writer should stop waiting.
    private let wakeSignal = DispatchSemaphore(value: 0)
    /// Called after a commit and before its callers are answered, with the effects of the commit.
    private let committed: @Sendable (Effects, SQLiteWriteSession, Writer) -> Void

    /// A waiting write.
    struct Job: Sendable {
        /// Does the work, and returns a closure that answers the caller once it is committed.
        let run: @Sendable (SQLiteWriteSession) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// Answers a caller.
    struct Answer: Sendable {
        let call: @Sendable () -> Void
        /// The caller need not wait for the disk.
        let isAtCommit: Bool
    }

    init(
        pool: DatabasePool, session: SQLiteWriteSession, flusher: LogFlusher, observer: any StoreObserver,
        logger: Logger,
        committed: @escaping @Sendable (Effects, SQLiteWriteSession, Writer) -> Void
    ) {
        self.pool = pool
        self.session = session
        self.flusher = flusher
        self.observer = observer
        putOffs = PutOffs(logger)
        self.committed = committed
    }

    /// Runs `body` inside a transaction shared with others and returns when that is durable.
    ///
    /// `body` may run more than once; the changes of an earlier run were rolled back then.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriteSession) throws -> Value
    ) async throws -> Value {
        let signature = PendingAuditEntry.pending.flatMap { $0.isKept ? nil : $0 }
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

    /// Queues maintenance, which no caller waits for; a failure is logged.
    ///
    /// - Parameter orElse: called once it has failed.
    func enqueue(
        _ name: StaticString, _ body: @escaping @Sendable (SQLiteWriteSession) throws -> Void,
        orElse: @escaping @Sendable () -> Void = {}
    ) {
        submit(
            Job(
                run: { [putOffs] session in
                    try body(session)
                    return { putOffs.note(.success(()), of: "\(name)") }
                },
                fail: { [putOffs] error in
                    putOffs.note(.failure(error), of: "\(name)")
                    orElse()
                }))
    }

    /// Refuses new writes and returns when the waiting ones are done.
    func close() async {
        await withCheckedContinuation { continuation in
            let last = Job(run: { _ in { continuation.resume() } }, fail: { _ in continuation.resume() })
            submit(last, isLast: true)
        }
    }

    private enum Admission { case queued, heard, wake, overloaded, closed }

    /// Queues a write, or fails it when too many wait.
    func submit(_ job: Job, isLast: Bool = false) {
        let admission = state.withLock { state -> Admission in
            if state.isClosed { return .closed }
            guard isLast || state.count < WriterQueue.countMax else { return .overloaded }
            let isHeard = state.append(job)
            state.isClosed = isLast
            if state.isDraining { return isHeard ? .heard : .queued }
            state.isDraining = true
            return .wake
        }
        switch admission {
        case .queued: break
        case .heard: wakeSignal.signal()
        case .wake: pool.asyncWriteWithoutTransaction { self.drain($0) }
        case .overloaded: job.fail(StoreError.overloaded(retryAfter: .seconds(1)))
        case .closed: job.fail(StoreError.unavailable("the database is closed"))
        }
    }

    /// Runs one group, and is queued again for the next: between two groups the queue is free for a checkpoint.
    private func drain(_ db: Database) {
        let (next, waiting) = state.withLock { ($0.next(), $0.count) }
        observer.writesWaiting(waiting)
        guard let job = next else { return stopDraining() }
        runBatch(startingWith: job, db)
        pool.asyncWriteWithoutTransaction { self.drain($0) }
    }

    private func stopDraining() {
        let wasEmpty = state.withLock { state in
            if state.count == 0 { state.isDraining = false }
            return !state.isDraining
        }
        if !wasEmpty { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    private func runBatch(startingWith first: Job, _ db: Database) {
        let started = ContinuousClock.now
        var batch = Batch(startedAt: started)
        do {
            if let fault = flusher.fault { throw fault }
            try session.begin(db)
        } catch {
            return fail([first] + state.withLock { $0.takeAll() }, error)
        }
        var job: Job? = first
        while let current = job {
            batch.jobs.append(current)
            let changes = sqlite3_total_changes64(db.sqliteConnection)
            do {
                batch.answers.append(try session.run(current))
            } catch  where error.isOfTheDatabaseItself || !db.isInsideTransaction {
                session.rollback(db)
                return fail(batch.jobs, error)
            } catch  where sqlite3_total_changes64(db.sqliteConnection) == changes {
                batch.answers.append(Answer(call: { current.fail(error) }, isAtCommit: false))
            } catch {
                session.rollback(db)
                for job in batch.jobs { runAlone(job, db) }
                return
            }
            job = next(after: &batch)
        }
        commit(batch, db)
    }

    /// Runs one write in a transaction of its own, after one of its group failed.
    private func runAlone(_ job: Job, _ db: Database) {
        let started = ContinuousClock.now
        do {
            try session.begin(db)
            let answer = try session.run(job)
            commit(Batch(startedAt: started, jobs: [job], answers: [answer]), db)
        } catch {
            session.rollback(db)
            fail([job], error)
        }
    }

    /// The next write for a transaction that has `count`; nil when it is to be committed.
    private func next(after batch: inout Batch) -> Job? {
        while true {
            let (count, age) = (batch.jobs.count, batch.startedAt.duration(to: .now))
            switch state.withLock({ $0.step(after: count, worked: batch.worked, age: age) }) {
            case .run(let job): return job
            case .commit: return nil
            case .wait: batch.idle { wakeSignal.wait() }
            case .gather:
                let rest = Int((WriterQueue.gatheringMax - age) / .microseconds(1))
                batch.idle { _ = wakeSignal.wait(timeout: .now() + .microseconds(rest)) }
            }
        }
    }

    /// Commits when the last commit is on the disk, and answers when this one is.
    private func commit(_ batch: Batch, _ db: Database) {
        var batch = batch
        batch.idle { awaitFlush() }
        do {
            if let fault = flusher.fault { throw fault }
            let effects = try session.commit(db)
            observer.transactionEnded(after: batch.worked)
            if effects.unmirrored > 0 { observer.unmirrored(effects.unmirrored) }
            committed(effects, session, self)
        } catch {
            session.rollback(db)
            return fail(batch.jobs, error)
        }
        guard session.hasWritten else { return batch.answers.forEach { $0.call() } }
        let waiting = batch.answers.indices.filter { session.hasPushes || !batch.answers[$0].isAtCommit }
        let (jobs, answers) = (waiting.map { batch.jobs[$0] }, waiting.map { batch.answers[$0] })
        if !session.hasPushes { for answer in batch.answers where answer.isAtCommit { answer.call() } }
        state.withLock { $0.beginFlush() }
        flusher.flush { flushed in
            if self.state.withLock({ $0.endFlush() }) { self.wakeSignal.signal() }
            switch flushed {
            case .success: for answer in answers { answer.call() }
            case .failure(let error): self.fail(jobs, error)
            }
        }
    }

    private func awaitFlush() {
        while state.withLock({ $0.listensForFlush() }) { wakeSignal.wait() }
    }

    private func fail(_ jobs: [Job], _ error: any Error) {
        for job in jobs { job.fail(error) }
    }

    private struct Batch {
        let startedAt: ContinuousClock.Instant
        var jobs: [Job] = []
        var answers: [Answer] = []
        /// The time that the transaction waited for the disk, or for other writes meanwhile.
        var idled = Duration.zero

        var worked: Duration { startedAt.duration(to: .now) - idled }

        mutating func idle(_ wait: () -> Void) {
            let begun = ContinuousClock.now
            wait()
            idled += begun.duration(to: .now)
        }
    }
}

/// Flushes commits to the disk beside the writer: while one commit is being flushed, the next is made.
///
/// SQLite would wait for the disk inside the commit, and the writer with it. Here the connection commits without
/// waiting (`synchronous = NORMAL`), this waits, and only then are callers answered. A power failure loses at most a tail of the log of
/// which no caller was answered, since the log is replayed up to its first incomplete commit.
/// Source: sqlite.org/pragma.html#pragma_synchronous.
final class LogFlusher: Sendable {
    private let queue = DispatchQueue(label: "belfry.store.flusher")
    private let sync: @Sendable () throws -> Void
    /// The first fault of the disk. The system tells of it once, so a later flush that succeeds would prove nothing: none does before
    /// the server has been restarted.
    private let firstFault = Mutex<(any Error)?>(nil)

    var fault: (any Error)? { firstFault.withLock { $0 } }

    /// - Parameter sync: returns when all that was committed before the call is on the disk.
    init(sync: @escaping @Sendable () throws -> Void) { self.sync = sync }

    /// Flushes the write-ahead log of the database at `path`, which has to be open: as long as it is, its log is one file.
    convenience init(path: String) throws {
        let log = try LogFile(path: path + "-wal")
        self.init { try log.sync() }
    }

    /// Calls `then` when all that was committed before is on the disk, or could not be flushed.
    func flush(_ then: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        queue.async {
            let flushed = Result { if let fault = self.fault { throw fault } else { try self.sync() } }
            if case .failure(let error) = flushed { self.firstFault.withLock { $0 = $0 ?? error } }
            then(flushed)
        }
    }
}

/// A descriptor of the log beside SQLite's own. Closing it releases no lock, because SQLite locks the other two files.
private final class LogFile: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure("opened") }
    }

    deinit { close(descriptor) }

    /// The log's times do not matter, and writing them costs a journal entry of the file system for each call.
    func sync() throws {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw Self.failure("flushed") }
        }
    }

    private static func failure(_ effect: String) -> StoreError {
        StoreError.unavailable(
            "the log could not be \(effect): \(String(cString: strerror(errno))); see to the disk, then restart the server"
        )
    }
}
