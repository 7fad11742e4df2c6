import BelfryCore

/// Divides claims among those with something due: lane by lane, and within a lane one for each application in turn.
struct Claims {
    let session: WriteSession
    let now: Instant

    /// - Parameters:
    ///   - nextBidder: the statement that finds the next platform with something open in a lane, and when it falls due.
    ///   - take: leases up to so many of a platform in a lane, and returns them.
    func claim<Leased>(
        atMost limit: Int, lanes: [Lane], nextBidder: String, room: (Key<Platform>) -> Int,
        take: (Lane, Key<Platform>, Int) throws -> [Leased]
    ) throws -> [Leased] {
        var leased: [Leased] = []
        var taken: [Key<Platform>: Int] = [:]
        session.turn &+= 1
        for lane in Set(lanes).sorted() {
            while leased.count < limit {
                let bidders = try self.bidders(in: lane, nextBidder: nextBidder) { room($0) - taken[$0, default: 0] }
                let shares = FairShare.divide(limit - leased.count, among: bidders, turn: session.turn & .max)
                guard !shares.isEmpty else { break }
                // A platform may have less due than its share; the next round gives the rest to others.
                for (platform, share) in shares.sorted(by: { $0.key < $1.key }) {
                    let more = try take(lane, platform, share)
                    taken[platform, default: 0] += more.count
                    leased += more
                }
            }
        }
        return leased
    }

    /// The platforms with something due in the lane, by leaps through the index from one to the next.
    private func bidders(
        in lane: Lane, nextBidder: String, room: (Key<Platform>) -> Int
    ) throws -> [FairShare.Bidder] {
        var bidders: [FairShare.Bidder] = []
        var last = Key<Platform>(0)
        let statement = try session.prepared(nextBidder)
        while let (platform, dueAt) = try statement.first(
            lane.rawValue, last, as: { (Key<Platform>($0.integer(0)), $0.integer(1)) })
        {
            last = platform
            guard dueAt <= now.milliseconds, let stand = try session.stand(of: platform), !stand.isParked else { continue }
            let room = room(platform)
            guard room > 0 else { continue }
            bidders.append(FairShare.Bidder(application: stand.application, platform: platform, room: room))
        }
        return bidders
    }
}
