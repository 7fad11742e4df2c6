import BelfryCore

/// Divides claims among those with something due: lane by lane, and within a lane one for each application in turn.
struct Claims<Session: WriteSession> {
    let session: Session
    let turn: Int

    /// - Parameters:
    ///   - work: what is claimed.
    ///   - take: leases up to so many of a platform in a lane, and returns them. What other nodes hold is passed over, so
    ///     there may be fewer.
    func claim<Leased>(
        _ work: ClaimedWork, atMost limit: Int, lanes: [Lane], room: (Key<Platform>) -> Int,
        take: (Lane, Key<Platform>, Int) throws -> [Leased]
    ) throws -> [Leased] {
        var leased: [Leased] = []
        var taken: [Key<Platform>: Int] = [:]
        let bids = try session.bids(for: work, in: lanes)
        for lane in Set(lanes).sorted() where leased.count < limit {
            var open = try bids(lane)
            while leased.count < limit {
                let bidders = open.compactMap { $0.bidder(room: room($0.platform) - taken[$0.platform, default: 0]) }
                let shares = FairShare.divide(limit - leased.count, among: bidders, turn: turn)
                guard !shares.isEmpty else { break }
                for (platform, share) in shares.sorted(by: { $0.key < $1.key }) {
                    let more = try take(lane, platform, share)
                    taken[platform, default: 0] += more.count
                    leased += more
                    // It has no more; the next round gives the rest to others.
                    if more.count < share { open.removeAll { $0.platform == platform } }
                }
            }
        }
        return leased
    }
}

/// What is claimed.
enum ClaimedWork {
    case batches, fanOuts
}

/// A platform that has something due in a lane, and is not parked.
struct Bid {
    let platform: Key<Platform>
    let application: Key<Application>

    fileprivate func bidder(room: Int) -> FairShare.Bidder? {
        room > 0 ? FairShare.Bidder(application: application, platform: platform, room: room) : nil
    }
}
