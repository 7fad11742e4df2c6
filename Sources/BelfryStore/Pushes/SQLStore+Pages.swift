import BelfryCore

extension SQLStore {
    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        let turn = nextTurn()
        return try await write { session in
            try Claims(session: session, turn: turn).claim(
                .pages, atMost: claim.pagesMax, lanes: claim.lanes, room: claim.room(on:)
            ) { lane, platform, share in
                try session.leasePages(
                    in: lane, on: platform, dueBy: session.now, atMost: share, until: session.now + claim.lease,
                    waiting: false)
            }
        }
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        let loading = try await glance { [pushes] db -> PageLoading in
            guard let push = try readable({ try pushes.push(page.pushKey, in: db) }) else { return .damaged }
            guard
                let push,
                let platform = try db.prepared(PlatformStatements.byKey).first(page.platformKey, as: Platform.init)
            else { return .gone }
            return .done(PageLoad(push: push, platform: platform, recipients: try db.recipients(of: page)))
        }
        switch loading {
        case .done(let load): return load
        case .gone: return nil
        case .damaged:
            try await write { try $0.setAside(page) }
            return nil
        }
    }

    package func nextDue() async throws -> Instant? {
        try await glance { db in
            let earliest = try [PageStatements.nextDue, WalkStatements.nextDue].compactMap { sql in
                try db.prepared(sql).first { $0.integerIfAny(0) } ?? nil
            }.min()
            return earliest.map(Instant.init(milliseconds:))
        }
    }

    package func hints() -> AsyncStream<Void> { signals.stream() }
}

enum PageStatements {
    static let insert: SQLText = """
        INSERT INTO page /* pages.insert */ (
            push_id, platform_id, lane, first_device_id, last_device_id, due_at_ms, devices, answers)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let forSettling: SQLText = """
        SELECT attempt, carry_count, is_open, answers /* pages.for_settling */ FROM page WHERE id = $1 \(SQLText.forUpdate)
        """

    static let settle: SQLText = """
        UPDATE page /* pages.settle */
           SET answers = $1, due_at_ms = coalesce($2, due_at_ms), retry_at_ms = $2, is_open = $3, carry_count = 0
         WHERE id = $4
        """

    /// Walks `page_device` backwards to the only page of the device's platform that can hold it.
    static let holding: SQLText = """
        SELECT devices, answers /* pages.holding */ FROM page
         WHERE push_id = $1 AND platform_id = (SELECT platform_id FROM device WHERE id = $2) AND first_device_id <= $2
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// SQLite goes through `page_due` from platform to platform, PostgreSQL leaps from one that has something to the next.
    static let nextDue: SQLText = """
        \(sqlite: """
            SELECT min((SELECT min(due_at_ms) FROM page
                         WHERE is_open = true AND page.lane = lane.id AND platform_id = platform.id)) /* pages.next_due */
              FROM platform JOIN application ON application.id = application_id
              JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
             WHERE parked_cause IS NULL AND is_retired = 0 AND is_doomed = 0
            """,
            postgres: """
            WITH RECURSIVE bidder /* pages.next_due */ AS (
                (SELECT lane, platform_id, due_at_ms FROM page
                  WHERE is_open
                  ORDER BY lane, platform_id, due_at_ms LIMIT 1)
                UNION ALL
                SELECT next.lane, next.platform_id, next.due_at_ms
                  FROM bidder CROSS JOIN LATERAL (
                    SELECT page.lane, page.platform_id, page.due_at_ms FROM page
                     WHERE is_open AND (page.lane, page.platform_id) > (bidder.lane, bidder.platform_id)
                     ORDER BY page.lane, page.platform_id, page.due_at_ms LIMIT 1) AS next)
            SELECT min(due_at_ms)
              FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
             WHERE parked_cause IS NULL AND NOT is_retired AND NOT is_doomed
            """)
        """
}
