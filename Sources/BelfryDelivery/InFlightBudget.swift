import BelfryCore

/// Divides the in-flight budget among platforms, so that slow ones never take it from the others.
///
/// A stalled provider keeps its batches until their deadline, a thousand times as long as one that answers. So no
/// platform takes more than half of what is free, which leaves something for the next platform; and platforms with slow
/// batches share one half of the in-flight budget, the other half is for the rest.
struct InFlightBudget {
    /// How fast a platform's last batch was answered.
    enum Pace: CaseIterable { case quick, slow }

    /// What may be claimed for the platforms of one pace.
    struct Share: Equatable {
        var batchesMax: Int
        /// How many more batches each platform may have. Platforms not named here may have `roomElsewhere`.
        var room: [Key<Platform>: Int]
        var roomElsewhere: Int
    }

    private let batchesMax: Int
    private let batchesOfPlatformMax: Int
    private let slowAfter: Duration
    private var batches: [Key<Platform>: Int] = [:]
    private var slow: Set<Key<Platform>> = []

    init(batchesMax: Int, batchesOfPlatformMax: Int, slowAfter: Duration) {
        self.batchesMax = batchesMax
        self.batchesOfPlatformMax = min(batchesOfPlatformMax, batchesMax)
        self.slowAfter = slowAfter
    }

    var batchesInFlight: Int { batches.values.reduce(0, +) }

    mutating func take(_ platform: Key<Platform>) { batches[platform, default: 0] += 1 }

    mutating func release(_ platform: Key<Platform>, after stay: Duration) {
        let left = batches[platform, default: 0] - 1
        batches[platform] = left > 0 ? left : nil
        if stay > slowAfter { slow.insert(platform) } else { slow.remove(platform) }
    }

    func share(of pace: Pace) -> Share? {
        let free = batchesMax - batchesInFlight
        guard free > 0 else { return nil }
        return pace == .quick ? quickShare(free) : slowShare(free)
    }

    private func quickShare(_ free: Int) -> Share {
        let half = max(1, free / 2)
        let most = min(batchesOfPlatformMax, half)
        var room = batches.mapValues { max(0, most - $0) }
        for platform in slow { room[platform] = 0 }
        return Share(batchesMax: half, room: room, roomElsewhere: most)
    }

    private func slowShare(_ free: Int) -> Share? {
        let inFlight = slow.reduce(0) { $0 + batches[$1, default: 0] }
        let left = min(free, max(1, batchesMax / 2) - inFlight)
        guard left > 0, !slow.isEmpty else { return nil }
        let room = slow.map { ($0, max(0, batchesOfPlatformMax - batches[$0, default: 0])) }
        return Share(batchesMax: left, room: Dictionary(uniqueKeysWithValues: room), roomElsewhere: 0)
    }
}
