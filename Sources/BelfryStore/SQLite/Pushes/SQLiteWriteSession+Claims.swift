import BelfryCore
import GRDB

extension SQLiteWriteSession {
    /// The platforms with something due in a lane are found by leaps through the index from one to the next.
    func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid] {
        let next = try prepared(
            work == .pages ? SQLiteClaimStatements.nextPageBid : SQLiteClaimStatements.nextWalkBid)
        let now = now.milliseconds
        return { [self] lane in
            var bids: [Bid] = []
            var last = Key<Platform>(0)
            while let (platform, dueAt) = try next.first(
                lane.rawValue, last, as: { (Key<Platform>($0.integer(0)), $0.integer(1)) })
            {
                last = platform
                guard dueAt <= now, let stand = try stand(of: platform), !stand.isParked else { continue }
                bids.append(Bid(platform: platform, application: stand.application))
            }
            return bids
        }
    }

    /// Leases walks, the longest due first, and puts those out of the way whose push cannot be read.
    func leaseWalks(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [Walk] {
        let due = try prepared(SQLiteClaimStatements.dueWalks).all(lane.rawValue, platform, now, limit) { row in
            (
                push: Key<Push>(row.integer(0)), attempt: row.integer(1),
                cursor: row.integerIfAny(2).map { Key<Device>($0) }
            )
        }
        let lease = try prepared(SQLiteClaimStatements.leaseWalk)
        return try due.compactMap { walk in
            guard let push = try readable({ try pushes.push(walk.push, in: db) }) ?? nil else {
                try prepared(SQLiteClaimStatements.setWalkAside).run(now + Damage.setAsideFor, walk.push, platform)
                effects.damaged.append("push \(walk.push)")
                return nil
            }
            try lease.run(end, walk.push, platform)
            return Walk(
                pushKey: walk.push, platformKey: platform, lane: push.lane, audience: push.audience,
                cursor: walk.cursor, attempt: walk.attempt + 1)
        }
    }

    /// Leases pages, the longest due first, and puts those out of the way that cannot be read. There is nobody to wait for.
    func leasePages(
        in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant, waiting: Bool
    ) throws -> [Page] {
        let now = now
        let due = try prepared(SQLiteClaimStatements.duePages).all(lane.rawValue, platform, dueBy, limit) { row in
            (
                key: Key<Page>(row.integer(0)),
                page: try readable { try Page(claiming: row, in: lane, on: platform, at: now) }
            )
        }
        let lease = try prepared(SQLiteClaimStatements.leasePage)
        return try due.compactMap { key, page in
            guard let page else {
                try prepared(SQLiteClaimStatements.setPageAside).run(now + Damage.setAsideFor, key)
                try noteDamage(key)
                return nil
            }
            try lease.run(end, key)
            return page
        }
    }
}

extension Page {
    /// From the columns of `SQLiteClaimStatements.duePages`, as they are before the claim.
    fileprivate init(claiming row: SQLiteRow, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
        guard let devices = row.withBlob(4, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("page \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), pushKey: Key(row.integer(1)), platformKey: platform, lane: lane,
            devices: devices, answers: try row.withBlob(5) { try [Answer](codes: $0, count: devices.count) },
            attempt: row.integer(2) + 1, isLapsed: row.integer(3) > 0,
            rests: row.withBlob(5) {
                Rests.inCodes($0, retryAt: Instant(milliseconds: row.integer(6)), now: now)
            })
    }
}

/// What is claimed is leased by moving its due time to the end of the lease, so nothing ever needs rescuing.
enum SQLiteClaimStatements {
    /// One leap through `page_due`.
    static let nextPageBid = """
        SELECT platform_id, due_at_ms /* pages.next_bid */ FROM page
         WHERE is_open = true AND lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// One leap through `walk_due`.
    static let nextWalkBid = """
        SELECT platform_id, due_at_ms /* walks.next_bid */ FROM walk
         WHERE lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// Walks `page_due`.
    static let duePages = """
        SELECT id, push_id, attempt, carry_count, devices, answers, coalesce(retry_at_ms, due_at_ms) /* pages.due */
          FROM page
         WHERE is_open = true AND lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, id
         LIMIT ?4
        """

    static let leasePage = """
        UPDATE page /* pages.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, carry_count = carry_count + 1
         WHERE id = ?2
        """

    static let setPageAside = "UPDATE page /* pages.set_aside */ SET due_at_ms = ?1 WHERE id = ?2"

    /// Walks `walk_due`.
    static let dueWalks = """
        SELECT push_id, attempt, cursor /* walks.due */ FROM walk
         WHERE lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, push_id
         LIMIT ?4
        """

    static let leaseWalk = """
        UPDATE walk /* walks.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, is_claimed = true
         WHERE push_id = ?2 AND platform_id = ?3
        """

    /// One that nobody claimed is due at once, so one that is not was set aside.
    static let setWalkAside = """
        UPDATE walk /* walks.set_aside */ SET due_at_ms = ?1, is_claimed = false
         WHERE push_id = ?2 AND platform_id = ?3
        """
}
