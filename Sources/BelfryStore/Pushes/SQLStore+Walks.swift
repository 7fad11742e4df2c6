import BelfryCore

extension SQLStore {
    package func claimWalks(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [Walk] {
        let turn = nextTurn()
        return try await write { session in
            try Claims(session: session, turn: turn).claim(
                .walks, atMost: limit, lanes: lanes, room: { _ in limit }
            ) { lane, platform, share in
                try session.leaseWalks(in: lane, on: platform, atMost: share, until: session.now + lease)
            }
        }
    }

    package func devices(in walk: Walk, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        let now = clock.now
        return try await read { db in
            let platform = try db.prepared(PlatformStatements.byKey).first(walk.platformKey, as: Platform.init)
            guard let platform else { return [] }
            let postings = try db.postings(of: platform.key, application: platform.applicationKey, now: now)
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
        let insert = try prepared(PageStatements.insert)
        for page in pages {
            try insert.send(
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
    static let insert: SQLText = """
        INSERT INTO walk /* walks.insert */ (push_id, platform_id, lane, due_at_ms) VALUES ($1, $2, $3, $4)
        """

    static let advance: SQLText = """
        UPDATE walk /* walks.advance */
           SET cursor = coalesce($1, cursor), due_at_ms = $2, is_claimed = false
         WHERE push_id = $3 AND platform_id = $4 AND attempt = $5 AND is_claimed = true
        """

    static let end: SQLText = """
        DELETE FROM walk /* walks.end */
         WHERE push_id = $1 AND platform_id = $2 AND attempt = $3 AND is_claimed = true
        """

    /// SQLite goes through `walk_due` from platform to platform, PostgreSQL leaps from one that has something to the next.
    static let nextDue: SQLText = """
        \(sqlite: """
            SELECT min((SELECT min(due_at_ms) FROM walk
                         WHERE walk.lane = lane.id AND platform_id = platform.id)) /* walks.next_due */
              FROM platform JOIN application ON application.id = application_id
              JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
             WHERE parked_cause IS NULL AND is_retired = 0 AND is_doomed = 0
            """,
            postgres: """
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
            """)
        """
}
