import Foundation
import Synchronization

/// A few connections, each with a thread of its own, on which all work with it is done.
///
/// A connection is opened when it is first needed, and again when it broke. Work that met a broken connection throws:
/// the caller decides whether to repeat it, see `PostgresError.isOfConnection`. While none is open and none can be opened,
/// all waiting work throws too.
///
/// ```swift
/// let pool = ConnectionPool(ConnectionOptions("postgres:///shop"), size: 4)
/// let names = try await pool.run { connection in
///     try connection.prepared("SELECT name FROM customer WHERE id < $1").all(100) { $0.text(0) }
/// }
/// await pool.close()
/// ```
public final class ConnectionPool: Sendable {
    private let options: ConnectionOptions
    private let waitingMax: Int
    private let queue = Mutex(Queue())
    /// Signalled once for each job, and once for each thread that should end.
    private let wakeSignal = DispatchSemaphore(value: 0)
    /// Signalled once for each thread that may rest when the pool is closed.
    private let closeSignal = DispatchSemaphore(value: 0)
    private let size: Int

    private struct Queue {
        var jobs: [Job] = []
        var first = 0
        var isClosed = false
        var threads = 0
        /// The number of threads that have a connection.
        var connected = 0
        /// Called when the last thread has ended.
        var farewell: (@Sendable () -> Void)?

        var count: Int { jobs.count - first }

        mutating func next() -> Job? {
            guard first < jobs.count else { return nil }
            defer {
                first += 1
                if first == jobs.count || first > 1_024 {
                    jobs.removeFirst(first)
                    first = 0
                }
            }
            return jobs[first]
        }

        mutating func takeAll() -> [Job] {
            defer { (jobs, first) = ([], 0) }
            return Array(jobs[first...])
        }
    }

    /// - Parameters:
    ///   - size: the most connections and threads.
    ///   - waitingMax: the most waiting jobs; more throws `PostgresError.Code.overloaded`.
    public init(_ options: ConnectionOptions, size: Int, waitingMax: Int = 10_000) {
        self.options = options
        self.size = size
        self.waitingMax = waitingMax
        queue.withLock { $0.threads = size }
        for number in 1...size {
            let thread = Thread { self.work() }
            thread.name = "postgresql-\(number)"
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    public var waitingCount: Int { queue.withLock { $0.count } }

    /// Runs `body` with exclusive use of a connection, on its thread.
    ///
    /// A transaction that `body` leaves open is rolled back.
    ///
    /// - Parameter isCancellable: whether cancelling the task drops waiting work and cancels running statements on the
    ///   server. A cancelled commit may have taken place.
    public func run<Value: Sendable>(
        isCancellable: Bool = true, _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        let ticket = Ticket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                submit(Job(ticket: ticket, body: body) { continuation.resume(with: $0) })
            }
        } onCancel: {
            if isCancellable { ticket.cancel() }
        }
    }

    /// Runs `body` when a connection is free, and returns at once.
    ///
    /// - Parameter then: called on the pool's thread with the result.
    public func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        submit(Job(ticket: Ticket(), body: body, answer: then))
    }

    /// Refuses new work, and returns when all earlier work is done.
    public func close() async {
        await withCheckedContinuation { continuation in
            let isDone = queue.withLock { queue in
                let isFirst = !queue.isClosed
                queue.isClosed = true
                if isFirst, queue.threads > 0 { queue.farewell = { continuation.resume() } }
                return queue.farewell == nil || !isFirst
            }
            if isDone { return continuation.resume() }
            for _ in 0..<size {
                wakeSignal.signal()
                closeSignal.signal()
            }
        }
    }

    private struct Job: Sendable {
        let ticket: Ticket
        /// Does the work, and returns a closure that answers the caller.
        let run: @Sendable (Connection) -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void

        init<Value: Sendable>(
            ticket: Ticket, body: @escaping @Sendable (Connection) throws -> Value,
            answer: @escaping @Sendable (Result<Value, any Error>) -> Void
        ) {
            self.ticket = ticket
            run = { connection in
                do {
                    let value = try body(connection)
                    return { answer(.success(value)) }
                } catch let error as PostgresError where error.sqlState == .queryCanceled && ticket.isCancelled {
                    return { answer(.failure(CancellationError())) }
                } catch {
                    return { answer(.failure(error)) }
                }
            }
            fail = { answer(.failure($0)) }
        }
    }

    private func submit(_ job: Job) {
        let fault = queue.withLock { queue -> PostgresError? in
            if queue.isClosed { return PostgresError(.closed, message: "the pool is closed") }
            guard queue.count < waitingMax else {
                return PostgresError(.overloaded, message: "\(queue.count) calls wait for a connection")
            }
            queue.jobs.append(job)
            return nil
        }
        if let fault { return job.fail(fault) }
        wakeSignal.signal()
    }

    // MARK: On the threads

    private func work() {
        var line: Line?
        func keep(_ other: Line?) {
            let change = (other == nil ? 0 : 1) - (line == nil ? 0 : 1)
            line = other
            if change != 0 { queue.withLock { $0.connected += change } }
        }
        while true {
            wakeSignal.wait()
            guard let job = queue.withLock({ $0.next() }) else {
                if queue.withLock({ $0.isClosed }) { break }
                continue
            }
            guard !job.ticket.isCancelled else {
                job.fail(CancellationError())
                continue
            }
            do {
                let open = try line.flatMap { $0.connection.isAlive ? $0 : nil } ?? Line(options)
                keep(open)
                if !run(job, on: open) { keep(nil) }
            } catch {
                keep(nil)
                putOff(job, error)
            }
        }
        keep(nil)
        let farewell = queue.withLock { queue in
            queue.threads -= 1
            return queue.threads == 0 ? queue.farewell : nil
        }
        farewell?()
    }

    /// Leaves the job to the threads that have a connection, and rests. Where there are none, the waiting callers would get the
    /// same error later, each after an attempt of its own.
    private func putOff(_ job: Job, _ error: any Error) {
        let failed = queue.withLock { queue -> [Job] in
            guard queue.connected > 0 else { return [job] + queue.takeAll() }
            queue.jobs.insert(job, at: queue.first)
            return []
        }
        for job in failed { job.fail(error) }
        guard failed.isEmpty else { return }
        wakeSignal.signal()
        _ = closeSignal.wait(timeout: .now() + .seconds(1))
    }

    /// Returns whether the connection can be used again.
    private func run(_ job: Job, on line: Line) -> Bool {
        job.ticket.board(line.canceller, line.canceller.begin())
        let answer = job.run(line.connection)
        let isFree = line.canceller.end()
        job.ticket.leave()
        let isSound = isFree && line.connection.rollBack()
        answer()
        return isSound
    }

    private final class Line {
        let connection: Connection
        let canceller: Canceller

        init(_ options: ConnectionOptions) throws {
            connection = try Connection(options)
            canceller = Canceller(connection)
        }
    }
}

/// Tracks one job from the queue onto a connection, so that it can be cancelled at any time.
private final class Ticket: Sendable {
    private struct State {
        var isCancelled = false
        var boarded: (canceller: Canceller, number: Int)?
    }

    private let state = Mutex(State())

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func cancel() {
        let boarded = state.withLock { state in
            state.isCancelled = true
            return state.boarded
        }
        boarded.map { $0.canceller.cancel($0.number) }
    }

    func board(_ canceller: Canceller, _ number: Int) {
        let isLate = state.withLock { state in
            state.boarded = (canceller, number)
            return state.isCancelled
        }
        if isLate { canceller.cancel(number) }
    }

    func leave() { state.withLock { $0.boarded = nil } }
}
