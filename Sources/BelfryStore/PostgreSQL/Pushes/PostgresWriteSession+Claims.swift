import BelfryCore
import PostgreSQL

extension PostgresWriteSession {
    func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid] {
        let sql = work == .pages ? PostgresClaimStatements.pageBids : PostgresClaimStatements.walkBids
        let bids = try prepared(sql).all(now, PostgresArray(lanes.map(\.rawValue))) { row in
            (lane: row.integer(0), bid: Bid(platform: Key(row.integer(1)), application: Key(row.integer(2))))
        }
        return { lane in bids.filter { $0.lane == lane.rawValue }.map(\.bid) }
    }

    func leaseWalks(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [Walk] {
        let claimed = try prepared(PostgresClaimStatements.walks).all(
            lane.rawValue, platform, now, limit, end, as: ClaimedWalk.init)
        return try claimed.sorted { ($0.dueAt, $0.push) < ($1.dueAt, $1.push) }
            .compactMap { try $0.walk(on: platform, in: self) }
    }

    func leasePages(
        in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant, waiting: Bool
    ) throws -> [Page] {
        let sql = waiting ? PostgresClaimStatements.allPages : PostgresClaimStatements.pages
        let leased = try prepared(sql).all(lane.rawValue, platform, dueBy, limit, end) { row in
            (
                dueAt: row.integer(6), key: Key<Page>(row.integer(0)),
                page: try readable { try Page(claimed: row, in: lane, on: platform, at: now) }
            )
        }
        return try leased.sorted { ($0.dueAt, $0.key) < ($1.dueAt, $1.key) }.compactMap { _, key, page in
            try page ?? setAside(key)
        }
    }

    /// Puts a page that was just claimed out of the way of the others; returns nil.
    private func setAside(_ page: Key<Page>) throws -> Page? {
        try prepared(PostgresClaimStatements.setPageAside).run(now + Damage.setAsideFor, page)
        try noteDamage(page)
        return nil
    }

    /// Puts a walk whose push cannot be read out of the way of the others; returns nil.
    fileprivate func setAside(walkOf push: Key<Push>, on platform: Key<Platform>) throws -> Walk? {
        try prepared(PostgresClaimStatements.setWalkAside).run(now + Damage.setAsideFor, push, platform)
        effects.damaged.append("push \(push)")
        return nil
    }
}

/// A walk as its claim returns it.
private struct ClaimedWalk {
    let push: Key<Push>
    let attempt: Int64
    let cursor: Key<Device>?
    let dueAt: Int64

    init(_ row: Row) {
        push = Key(row.integer(0))
        attempt = row.integer(1)
        cursor = row.integerIfAny(2).map { Key($0) }
        dueAt = row.integer(3)
    }

    /// nil when its push cannot be read.
    func walk(on platform: Key<Platform>, in session: PostgresWriteSession) throws -> Walk? {
        guard let push = try readable({ try session.pushes.push(push, in: session.db) }) ?? nil else {
            return try session.setAside(walkOf: push, on: platform)
        }
        return Walk(
            pushKey: push.key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: cursor,
            attempt: attempt)
    }
}

extension Page {
    /// From the columns of `PageStatements.claim`, as they are after the claim.
    fileprivate init(claimed row: Row, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
        guard let devices = row.withBlob(4, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("page \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), pushKey: Key(row.integer(1)), platformKey: platform, lane: lane,
            devices: devices, answers: try row.withBlob(5) { try [Answer](codes: $0, count: devices.count) },
            attempt: row.integer(2), isLapsed: row.integer(3) > 1,
            rests: row.withBlob(5) {
                Rests.inCodes($0, retryAt: Instant(milliseconds: row.integer(7)), now: now)
            })
    }
}

/// What is claimed is leased by moving its due time to the end of the lease, so nothing ever needs rescuing.
enum PostgresClaimStatements {
    /// Leaps through `page_due` from one lane and platform to the next.
    static let pageBids = """
        WITH RECURSIVE bidder /* pages.bids */ AS (
            (SELECT lane, platform_id, due_at_ms FROM page
              WHERE is_open
              ORDER BY lane, platform_id, due_at_ms LIMIT 1)
            UNION ALL
            SELECT next.lane, next.platform_id, next.due_at_ms
              FROM bidder CROSS JOIN LATERAL (
                SELECT page.lane, page.platform_id, page.due_at_ms FROM page
                 WHERE is_open AND (page.lane, page.platform_id) > (bidder.lane, bidder.platform_id)
                 ORDER BY page.lane, page.platform_id, page.due_at_ms LIMIT 1) AS next)
        SELECT lane, platform_id, application_id
          FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
         WHERE due_at_ms <= $1 AND lane = ANY ($2)
           AND parked_cause IS NULL AND NOT is_retired AND NOT is_doomed
         ORDER BY lane, platform_id
        """

    /// Leaps through `walk_due` from one lane and platform to the next.
    static let walkBids = """
        WITH RECURSIVE bidder /* walks.bids */ AS (
            (SELECT lane, platform_id, due_at_ms FROM walk ORDER BY lane, platform_id, due_at_ms LIMIT 1)
            UNION ALL
            SELECT next.lane, next.platform_id, next.due_at_ms
              FROM bidder CROSS JOIN LATERAL (
                SELECT walk.lane, walk.platform_id, walk.due_at_ms FROM walk
                 WHERE (walk.lane, walk.platform_id) > (bidder.lane, bidder.platform_id)
                 ORDER BY walk.lane, walk.platform_id, walk.due_at_ms LIMIT 1) AS next)
        SELECT lane, platform_id, application_id
          FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
         WHERE due_at_ms <= $1 AND lane = ANY ($2)
           AND parked_cause IS NULL AND NOT is_retired AND NOT is_doomed
         ORDER BY lane, platform_id
        """

    /// Walks `page_due`, and passes over what another node is claiming.
    static let pages = """
        WITH due /* pages.claim */ AS MATERIALIZED (
            SELECT id, due_at_ms FROM page
             WHERE is_open AND lane = $1 AND platform_id = $2 AND due_at_ms <= $3
             ORDER BY due_at_ms, id
             LIMIT $4
               FOR UPDATE SKIP LOCKED)
        UPDATE page
           SET due_at_ms = $5, attempt = attempt + 1, carry_count = carry_count + 1
          FROM due
         WHERE page.id = due.id
        RETURNING page.id, push_id, attempt, carry_count, devices, answers, due.due_at_ms,
                  coalesce(retry_at_ms, due.due_at_ms)
        """

    /// As `pages`, but waits for those that are being claimed or settled: none is left behind.
    static let allPages = """
        WITH due /* retirement.claim_pages */ AS MATERIALIZED (
            SELECT id, due_at_ms FROM page
             WHERE is_open AND lane = $1 AND platform_id = $2 AND due_at_ms <= $3
             ORDER BY due_at_ms, id
             LIMIT $4
               FOR UPDATE)
        UPDATE page
           SET due_at_ms = $5, attempt = attempt + 1, carry_count = carry_count + 1
          FROM due
         WHERE page.id = due.id
        RETURNING page.id, push_id, attempt, carry_count, devices, answers, due.due_at_ms,
                  coalesce(retry_at_ms, due.due_at_ms)
        """

    /// Walks `walk_due`, and passes over what another node is claiming.
    static let walks = """
        WITH due /* walks.claim */ AS MATERIALIZED (
            SELECT push_id, platform_id, due_at_ms FROM walk
             WHERE lane = $1 AND platform_id = $2 AND due_at_ms <= $3
             ORDER BY due_at_ms, push_id
             LIMIT $4
               FOR UPDATE SKIP LOCKED)
        UPDATE walk
           SET due_at_ms = $5, attempt = attempt + 1, is_claimed = true
          FROM due
         WHERE walk.push_id = due.push_id AND walk.platform_id = due.platform_id
        RETURNING walk.push_id, attempt, cursor, due.due_at_ms
        """

    /// Takes the claim back, which nobody heard of.
    static let setPageAside = """
        UPDATE page /* damage.set_page_aside */ SET due_at_ms = $1, carry_count = carry_count - 1 WHERE id = $2
        """

    /// One that nobody claimed is due at once, so one that is not was set aside.
    static let setWalkAside = """
        UPDATE walk /* damage.set_walk_aside */ SET due_at_ms = $1, is_claimed = false
         WHERE push_id = $2 AND platform_id = $3
        """
}
