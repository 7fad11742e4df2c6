import Synchronization

/// Divides the in-flight budget among platforms, burst by burst, so that those that are slow never take it from the others.
///
/// A provider that stalls keeps its bursts until their deadline, a thousand times as long as one that answers. So no
/// platform takes more than a half of what is free, which leaves something for the next platform; and platforms whose
/// bursts stay long share one half of the in-flight budget, the other half is for the rest.
struct InFlightBudget {
    /// How fast a platform's last burst was answered.
    enum Pace: CaseIterable { case quick, slow }

    /// The bursts that may be claimed for the platforms of one pace.
    struct Share: Equatable {
        var burstsMax: Int
        /// How many more bursts each platform may have. Platforms not named here may have `roomElsewhere`.
        var room: [Key<Platform>: Int]
        var roomElsewhere: Int
    }

    private let burstsMax: Int
    private let burstsOfPlatformMax: Int
    private let slowAfter: Duration
    private var bursts: [Key<Platform>: Int] = [:]
    private var slow: Set<Key<Platform>> = []

    init(burstsMax: Int, burstsOfPlatformMax: Int, slowAfter: Duration) {
        self.burstsMax = burstsMax
        self.burstsOfPlatformMax = min(burstsOfPlatformMax, burstsMax)
        self.slowAfter = slowAfter
    }

    var burstsInFlight: Int { bursts.values.reduce(0, +) }

    mutating func take(_ platform: Key<Platform>) { bursts[platform, default: 0] += 1 }

    mutating func release(_ platform: Key<Platform>, after stay: Duration) {
        let left = bursts[platform, default: 0] - 1
        bursts[platform] = left > 0 ? left : nil
        if stay > slowAfter { slow.insert(platform) } else { slow.remove(platform) }
    }

    func share(of pace: Pace) -> Share? {
        let free = burstsMax - burstsInFlight
        guard free > 0 else { return nil }
        return pace == .quick ? quickShare(free) : slowShare(free)
    }

    private func quickShare(_ free: Int) -> Share {
        let half = max(1, free / 2)
        let most = min(burstsOfPlatformMax, half)
        var room = bursts.mapValues { max(0, most - $0) }
        for platform in slow { room[platform] = 0 }
        return Share(burstsMax: half, room: room, roomElsewhere: most)
    }

    private func slowShare(_ free: Int) -> Share? {
        let inFlight = slow.reduce(0) { $0 + bursts[$1, default: 0] }
        let left = min(free, max(1, burstsMax / 2) - inFlight)
        guard left > 0, !slow.isEmpty else { return nil }
        let room = slow.map { ($0, max(0, burstsOfPlatformMax - bursts[$0, default: 0])) }
        return Share(burstsMax: left, room: Dictionary(uniqueKeysWithValues: room), roomElsewhere: 0)
    }
}

/// Counts what is in flight: bursts by platform, against the budget, and their batches.
final class InFlightLimiter: Sendable {
    private struct State {
        var budget: InFlightBudget
        var batches = 0
    }

    private let state: Mutex<State>

    init(_ budget: InFlightBudget) { state = Mutex(State(budget: budget)) }

    /// The share that may be claimed now; nil for nothing.
    func share(of pace: InFlightBudget.Pace) -> InFlightBudget.Share? { state.withLock { $0.budget.share(of: pace) } }

    var batches: Int { state.withLock { $0.batches } }

    /// - Parameter burst: batches of one platform.
    func take(_ burst: [Batch]) {
        state.withLock { state in
            state.budget.take(burst[0].platformKey)
            state.batches += burst.count
        }
        DeliveryMetric.batchesInFlight(changedBy: burst.count)
    }

    func release(_ burst: [Batch], after stay: Duration) {
        state.withLock { state in
            state.budget.release(burst[0].platformKey, after: stay)
            state.batches -= burst.count
        }
        DeliveryMetric.batchesInFlight(changedBy: -burst.count)
    }
}
