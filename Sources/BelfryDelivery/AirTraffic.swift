import BelfryCore

/// Divides the air among platforms, so that those that are slow never take it from the others.
///
/// A provider that stalls keeps its pages until their deadline, a thousand times as long as one that answers. So no platform
/// takes more than a half of what is free, which leaves something for whoever comes next; and platforms whose pages
/// stay long have one half of the air for all of them, the other is for the rest.
struct AirTraffic {
    /// How a platform's last page came down.
    enum Pace: CaseIterable { case quick, slow }

    /// What may be claimed for the platforms of one pace.
    struct Share: Equatable {
        var pagesMax: Int
        /// How many more each platform may have. Those not named here may have `roomElsewhere`.
        var room: [Key<Platform>: Int]
        var roomElsewhere: Int
    }

    private let pagesMax: Int
    private let pagesOfPlatformMax: Int
    private let slowAfter: Duration
    private var pages: [Key<Platform>: Int] = [:]
    private var slow: Set<Key<Platform>> = []

    init(pagesMax: Int, pagesOfPlatformMax: Int, slowAfter: Duration) {
        self.pagesMax = pagesMax
        self.pagesOfPlatformMax = min(pagesOfPlatformMax, pagesMax)
        self.slowAfter = slowAfter
    }

    var pagesInAir: Int { pages.values.reduce(0, +) }

    mutating func take(_ platform: Key<Platform>) { pages[platform, default: 0] += 1 }

    mutating func land(_ platform: Key<Platform>, after stay: Duration) {
        let left = pages[platform, default: 0] - 1
        pages[platform] = left > 0 ? left : nil
        if stay > slowAfter { slow.insert(platform) } else { slow.remove(platform) }
    }

    func share(of pace: Pace) -> Share? {
        let free = pagesMax - pagesInAir
        guard free > 0 else { return nil }
        return pace == .quick ? quickShare(free) : slowShare(free)
    }

    private func quickShare(_ free: Int) -> Share {
        let half = max(1, free / 2)
        let most = min(pagesOfPlatformMax, half)
        var room = pages.mapValues { max(0, most - $0) }
        for platform in slow { room[platform] = 0 }
        return Share(pagesMax: half, room: room, roomElsewhere: most)
    }

    private func slowShare(_ free: Int) -> Share? {
        let inAir = slow.reduce(0) { $0 + pages[$1, default: 0] }
        let left = min(free, max(1, pagesMax / 2) - inAir)
        guard left > 0, !slow.isEmpty else { return nil }
        let room = slow.map { ($0, max(0, pagesOfPlatformMax - pages[$0, default: 0])) }
        return Share(pagesMax: left, room: Dictionary(uniqueKeysWithValues: room), roomElsewhere: 0)
    }
}
