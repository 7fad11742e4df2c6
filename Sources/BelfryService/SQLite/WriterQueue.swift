/// The waiting writes, and the decision when the transaction that takes them in is committed.
struct WriterQueue {
    private var waiting: [Writer.Job] = []
    private var position = 0
    var isDraining = false
    var isClosed = false
    /// The last commit is being flushed.
    private var isFlushing = false
    /// Waiting writes that wake the writer; nil while it runs.
    private var listensFor: Int?
    /// The writes that the next transaction is likely to get: the callers of the last one were answered together, and callers with more to
    /// write come back together.
    private var expected = 0

    /// The most writes that wait, beyond which writes are refused; and the most of a transaction.
    static let countMax = 10_000
    /// A transaction that need not wait for the last flush takes no more writes once it has worked this long: the disk
    /// must not idle while writes wait for it, nor must all callers wait for one commit.
    static let waitMax = Duration.microseconds(500)
    /// Writes that arrive while the writer waits for a flush are done several at a time, since waking it costs as much
    /// as one.
    private static let handful = 8
    /// The longest that a transaction stays open for writes that are likely to come.
    static let gatheringMax = Duration.milliseconds(1)
    /// A transaction of fewer writes than this makes the next wait for none: a lone caller is answered at once.
    static let companionsMin = 4

    /// The writer's next step, with a transaction open.
    enum Step {
        case run(Writer.Job)
        case commit
        /// Waits until the writer is woken.
        case wait
        /// Waits until the writer is woken, or the transaction has been open for `gatheringMax`.
        case gather
    }

    var count: Int { waiting.count - position }

    /// Returns whether the writer must be woken.
    mutating func append(_ job: Writer.Job) -> Bool {
        waiting.append(job)
        return count >= listensFor ?? .max && stopListening()
    }

    mutating func next() -> Writer.Job? {
        guard position < waiting.count else {
            waiting.removeAll(keepingCapacity: true)
            position = 0
            return nil
        }
        let job = waiting[position]
        position += 1
        // An endless stream of writes must not keep the finished ones in memory.
        if position >= Self.countMax / 10 {
            waiting.removeFirst(position)
            position = 0
        }
        return job
    }

    mutating func takeAll() -> [Writer.Job] {
        defer { (waiting, position) = ([], 0) }
        return Array(waiting[position...])
    }

    /// Decides the next step. While the last commit is being flushed the next could not follow it, and takes in more instead: so a slow
    /// disk gets larger transactions, and no write waits long for a fast one.
    ///
    /// With a fast disk a transaction that follows one of many writes waits a moment for as many: the thread changes of a commit cost more
    /// than a write.
    mutating func step(after count: Int, worked: Duration, age: Duration) -> Step {
        let isFull = count >= Self.countMax
        if !isFull, isFlushing || worked < Self.waitMax, let job = next() { return .run(job) }
        if isFlushing {
            listensFor = isFull ? .max : Self.handful
            return .wait
        }
        let missing = expected - count
        if missing > 0, self.count == 0, !isClosed, age < Self.gatheringMax {
            listensFor = missing
            return .gather
        }
        listensFor = nil
        expected = count < Self.companionsMin ? 0 : count - count / 4
        return .commit
    }

    mutating func beginFlush() { isFlushing = true }

    /// Returns whether the writer must be woken.
    mutating func endFlush() -> Bool {
        isFlushing = false
        return stopListening()
    }

    /// Returns whether there is a flush to wait for.
    mutating func listensForFlush() -> Bool {
        listensFor = isFlushing ? .max : nil
        return isFlushing
    }

    private mutating func stopListening() -> Bool {
        defer { listensFor = nil }
        return listensFor != nil
    }
}
