import Synchronization

/// How many messages a project may send, shared by all clients that send for it.
///
/// Early messages wait: a batch is sent when the bucket has room, and none is refused for coming at once. Source:
/// Firebase, "Throttling and quotas": 600,000 a minute unless Google granted more.
public final class FCMQuota: Sendable {
    private let bucket: Mutex<QuotaBucket>
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    public static let standard = 600_000

    /// - Parameters:
    ///   - now: time since any origin; it must not go back.
    ///   - sleep: waits; throws when the task is cancelled.
    public init(
        perMinute: Int = FCMQuota.standard, now: @escaping @Sendable () -> Duration = FCMQuota.monotonicNow,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        bucket = Mutex(QuotaBucket(perMinute: perMinute, now: now()))
        self.now = now
        self.sleep = sleep
    }

    /// Sets this node's share of the limit; what was taken stays taken. For programs that divide a project's quota.
    public func change(perMinute: Int) { bucket.withLock { $0.change(perMinute: perMinute, at: now()) } }

    /// How many messages could be sent within a second.
    public var room: Int { bucket.withLock { $0.room(at: now()) } }

    /// Waits until `count` messages may be sent. Returns the necessary wait if it exceeds `deadline`; then nothing was
    /// taken.
    func take(_ count: Int, within deadline: Duration) async -> Duration? {
        switch bucket.withLock({ $0.take(count, at: now(), within: deadline) }) {
        case .go(let wait):
            if wait > .zero { try? await sleep(wait) }
            return nil
        case .late(let wait): return wait
        }
    }

    /// FCM reported that the quota is used up: nothing is sent before `wait` is over.
    func pause(for wait: Duration) { bucket.withLock { $0.pause(until: now() + wait) } }

    public static func monotonicNow() -> Duration { ContinuousClock.now - origin }

    private static let origin = ContinuousClock.now
}

/// A token bucket that lends: what is taken beyond its content becomes a debt that the taker waits for.
struct QuotaBucket {
    enum Step: Equatable {
        /// Taken; send after this wait.
        case go(Duration)
        /// Not taken; this wait would be necessary.
        case late(Duration)
    }

    private var perSecond: Double
    /// A second's worth: FCM counts by the minute, and recommends an even flow.
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
