package import BelfryCore
import PostgreSQL

extension PostgresStore {
    package func claimWalks(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [Walk] {
        let turn = nextTurn()
        return try await write { session in
            try Claims(session: session, turn: turn).claim(
                atMost: limit, lanes: lanes, bidders: WalkStatements.bidders, room: { _ in limit }
            ) { lane, platform, share in
                let claimed = try session.prepared(WalkStatements.claim).all(
                    lane.rawValue, platform, session.now, share, session.now + lease, as: ClaimedWalk.init)
                return try claimed.sorted { ($0.dueAt, $0.push) < ($1.dueAt, $1.push) }
                    .compactMap { try $0.walk(on: platform, in: session) }
            }
        }
    }

    package func devices(in walk: Walk, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        let now = clock.now
        return try await read { db in
            let platform = try db.prepared(PlatformStatements.byKey).first(walk.platformKey, as: Platform.init)
            guard let platform else { return [] }
            let postings = PostgresPostings(
                db, platform: platform.key, application: platform.applicationKey, now: now)
            return try AudienceWalk(walk.audience, reader: postings).devices(after: after, limit: limit)
        }
    }

    package func advance(_ step: WalkStep) async throws -> Bool {
        let pages = step.pages.filter { !$0.isEmpty }.map(PageDraft.init)
        return try await write { session in
            guard try session.move(step, behind: pages.last?.last) else { return false }
            try session.write(
                pages, of: step.walk.pushKey, on: step.walk.platformKey, in: step.walk.lane, isLast: step.isLast)
            return true
        }
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
    func walk(on platform: Key<Platform>, in session: WriteSession) throws -> Walk? {
        guard let push = try readable({ try session.pushes.push(push, in: session.db) }) ?? nil else {
            return try session.setAside(walkOf: push, on: platform)
        }
        return Walk(
            pushKey: push.key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: cursor,
            attempt: attempt)
    }
}

/// A page before it is written.
struct PageDraft: Sendable {
    let first: Key<Device>
    let last: Key<Device>
    let devices: [UInt8]
    let answers: [UInt8]

    init(_ keys: [Key<Device>]) {
        first = keys[0]
        last = keys[keys.count - 1]
        devices = DeviceList.encode(keys)
        answers = [UInt8](repeating: Answer.pending.code, count: keys.count)
    }
}

extension WriteSession {
    /// Writes pages that are due at once, and counts them for their push.
    ///
    /// - Parameter isLast: whether the push's walk on this platform ends with them.
    func write(
        _ pages: [PageDraft], of push: Key<Push>, on platform: Key<Platform>, in lane: Lane, isLast: Bool
    ) throws {
        for page in pages {
            try prepared(PageStatements.insert).send(
                push, platform, lane.rawValue, page.first, page.last, now, page.devices, page.answers)
        }
        let devices = pages.reduce(0) { $0 + $1.answers.count }
        try prepared(PushStatements.advance).send(isLast ? 1 : 0, pages.count, devices, now, push)
        effects.fallsDue = true
    }

    /// Moves the walk's cursor and hands it back, or ends it; false when it was claimed by another since.
    fileprivate func move(_ step: WalkStep, behind last: Key<Device>?) throws -> Bool {
        let walk = step.walk
        return if step.isLast {
            try prepared(WalkStatements.end).run(walk.pushKey, walk.platformKey, walk.attempt) > 0
        } else {
            try prepared(WalkStatements.advance).run(last, now, walk.pushKey, walk.platformKey, walk.attempt) > 0
        }
    }
}

enum WalkStatements {
    static let insert = """
        INSERT INTO walk /* walks.insert */ (push_id, platform_id, lane, due_at_ms) VALUES ($1, $2, $3, $4)
        """

    /// Leaps through `walk_due` from one lane and platform to the next.
    static let bidders = """
        WITH RECURSIVE bidder /* walks.bidders */ AS (
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

    /// Walks `walk_due`, and passes over what another node is claiming.
    static let claim = """
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

    static let advance = """
        UPDATE walk /* walks.advance */
           SET cursor = coalesce($1, cursor), due_at_ms = $2, is_claimed = false
         WHERE push_id = $3 AND platform_id = $4 AND attempt = $5 AND is_claimed
        """

    static let end = """
        DELETE FROM walk /* walks.end */
         WHERE push_id = $1 AND platform_id = $2 AND attempt = $3 AND is_claimed
        """

    /// Leaps through `walk_due` as `bidders` does.
    static let nextDue = """
        WITH RECURSIVE bidder /* walks.next_due */ AS (
            (SELECT lane, platform_id, due_at_ms FROM walk ORDER BY lane, platform_id, due_at_ms LIMIT 1)
            UNION ALL
            SELECT next.lane, next.platform_id, next.due_at_ms
              FROM bidder CROSS JOIN LATERAL (
                SELECT walk.lane, walk.platform_id, walk.due_at_ms FROM walk
                 WHERE (walk.lane, walk.platform_id) > (bidder.lane, bidder.platform_id)
                 ORDER BY walk.lane, walk.platform_id, walk.due_at_ms LIMIT 1) AS next)
        SELECT min(due_at_ms)
          FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
         WHERE parked_cause IS NULL AND NOT is_retired AND NOT is_doomed
        """
}
