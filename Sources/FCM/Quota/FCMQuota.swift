import Synchronization

/// How many messages a project may send, shared by all clients that send for it.
///
/// What comes too early waits its turn: a batch's messages leave when the bucket has them, none is refused for having
/// come at once. Source: Firebase, "Throttling and quotas": 600,000 a minute unless Google was asked for more.
public final class FCMQuota: Sendable {
    private let bucket: Mutex<QuotaBucket>
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    public static let standard = 600_000

    /// - Parameters:
    ///   - now: time since an origin that does not matter; it must not go back.
    ///   - sleep: waits; throws when the task is cancelled.
    public init(
        perMinute: Int = FCMQuota.standard, now: @escaping @Sendable () -> Duration = FCMQuota.monotonicNow,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        bucket = Mutex(QuotaBucket(perMinute: perMinute, now: now()))
        self.now = now
        self.sleep = sleep
    }

    /// From now on so many; what was taken stays taken. For programs that divide a project's quota among processes.
    public func change(perMinute: Int) { bucket.withLock { $0.change(perMinute: perMinute, at: now()) } }

    /// How many messages would leave within a second.
    public var room: Int { bucket.withLock { $0.room(at: now()) } }

    /// Waits until `count` messages may leave. Returns how long it would take where that is beyond `deadline`; then
    /// nothing was taken.
    func take(_ count: Int, within deadline: Duration) async -> Duration? {
        switch bucket.withLock({ $0.take(count, at: now(), within: deadline) }) {
        case .go(let wait):
            if wait > .zero { try? await sleep(wait) }
            return nil
        case .late(let wait): return wait
        }
    }

    /// FCM says that the quota is used up: nothing leaves before `wait` is over.
    func pause(for wait: Duration) { bucket.withLock { $0.pause(until: now() + wait) } }

    public static func monotonicNow() -> Duration { ContinuousClock.now - origin }

    private static let origin = ContinuousClock.now
}

/// A token bucket that lends: what is taken beyond its content is owed, and the taker waits for the debt.
struct QuotaBucket {
    enum Step: Equatable {
        /// Taken; go after this wait.
        case go(Duration)
        /// Not taken; it would be this wait.
        case late(Duration)
    }

    private var perSecond: Double
    /// A second's worth: FCM counts by the minute, and asks for an even flow.
    private var capacity: Double { max(1, perSecond) }
    private var content: Double
    private var filledAt: Duration
    private var pausedUntil = Duration.zero

    init(perMinute: Int, now: Duration) {
        precondition(perMinute > 0, "a quota is above 0")
        perSecond = Double(perMinute) / 60
        content = max(1, perSecond)
        filledAt = now
    }

    mutating func change(perMinute: Int, at now: Duration) {
        precondition(perMinute > 0, "a quota is above 0")
        fill(at: now)
        perSecond = Double(perMinute) / 60
        content = min(content, capacity)
    }

    mutating func take(_ count: Int, at now: Duration, within deadline: Duration) -> Step {
        fill(at: now)
        let debt = max(0, Double(count) - content)
        let wait = max(.seconds(debt / perSecond), pausedUntil - now)
        guard wait <= deadline else { return .late(wait) }
        content -= Double(count)
        return .go(wait)
    }

    mutating func pause(until end: Duration) { pausedUntil = max(pausedUntil, end) }

    mutating func room(at now: Duration) -> Int {
        fill(at: now)
        return now < pausedUntil ? 0 : max(0, Int((content + perSecond).rounded(.down)))
    }

    private mutating func fill(at now: Duration) {
        guard now > filledAt else { return }
        content = min(capacity, content + (now - filledAt) / .seconds(1) * perSecond)
        filledAt = now
    }
}
