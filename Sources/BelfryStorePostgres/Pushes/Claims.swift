import BelfryCore
import PostgreSQL

/// Divides claims among those with something due: lane by lane, and within a lane one for each application in turn.
struct Claims {
    let session: WriteSession
    let turn: Int

    /// - Parameters:
    ///   - bidders: the statement that finds the platforms with something due, by lane.
    ///   - take: leases up to so many of a platform in a lane, and returns them. What other nodes hold is passed over, so
    ///     there may be fewer.
    func claim<Leased>(
        atMost limit: Int, lanes: [Lane], bidders: String, room: (Key<Platform>) -> Int,
        take: (Lane, Key<Platform>, Int) throws -> [Leased]
    ) throws -> [Leased] {
        var leased: [Leased] = []
        var taken: [Key<Platform>: Int] = [:]
        let bids = try bids(in: lanes, bidders)
        for lane in Set(lanes).sorted() {
            var open = bids.filter { $0.lane == lane.rawValue }
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

    private struct Bid {
        let lane: Int64
        let platform: Key<Platform>
        let application: Key<Application>

        func bidder(room: Int) -> FairShare.Bidder? {
            room > 0 ? FairShare.Bidder(application: application, platform: platform, room: room) : nil
        }
    }

    private func bids(in lanes: [Lane], _ sql: String) throws -> [Bid] {
        try session.prepared(sql).all(session.now, PostgresArray(lanes.map(\.rawValue))) { row in
            Bid(lane: row.integer(0), platform: Key(row.integer(1)), application: Key(row.integer(2)))
        }
    }
}
