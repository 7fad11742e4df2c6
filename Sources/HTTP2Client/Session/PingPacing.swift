/// When to ping: while answers are due and nothing was read for a while, and seldom when idle. Times in nanoseconds.
struct PingPacing {
    enum Step: Equatable { case wait, ping, dead }

    private let quietMax: UInt64
    private let idleMax: UInt64
    private let answerMax: UInt64
    private var lastReadAt: UInt64
    private var sentAt: UInt64?

    init(quietMax: UInt64, idleMax: UInt64, answerMax: UInt64, now: UInt64) {
        self.quietMax = quietMax
        self.idleMax = idleMax
        self.answerMax = answerMax
        lastReadAt = now
    }

    mutating func read(at now: UInt64) { lastReadAt = now }

    mutating func acknowledged() { sentAt = nil }

    mutating func step(at now: UInt64, hasOpenStreams: Bool) -> Step {
        if let sentAt {
            return now >= sentAt + answerMax ? .dead : .wait
        }
        guard now >= due(hasOpenStreams: hasOpenStreams) else { return .wait }
        sentAt = now
        return .ping
    }

    /// When `step` next has something to say.
    func due(hasOpenStreams: Bool) -> UInt64 {
        if let sentAt { return sentAt + answerMax }
        return lastReadAt + (hasOpenStreams ? quietMax : idleMax)
    }
}
