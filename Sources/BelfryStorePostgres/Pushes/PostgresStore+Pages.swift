package import BelfryCore
import PostgreSQL

extension PostgresStore {
    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        let turn = nextTurn()
        return try await write { session in
            try Claims(session: session, turn: turn).claim(
                atMost: claim.pagesMax, lanes: claim.lanes, bidders: PageStatements.bidders, room: claim.room(on:)
            ) { lane, platform, share in
                try session.leasePages(
                    PageStatements.claim, in: lane, on: platform, dueBy: session.now, atMost: share,
                    until: session.now + claim.lease)
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

extension WriteSession {
    /// Leases pages with the statement, the longest due first.
    func leasePages(
        _ sql: String, in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant
    ) throws -> [Page] {
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

extension Connection {
    fileprivate func recipients(of page: Page) throws -> [Recipient] {
        try prepared(TokenStatements.among).all(PostgresArray(page.ready.map { page.devices[$0] })) { row in
            Recipient(device: Key(row.integer(0)), token: DeviceToken(bytes: row.blob(1)))
        }
    }
}

enum TokenStatements {
    /// Looks each up in the primary key; see `DeviceStatements`.
    static let among = """
        SELECT id, token /* tokens.among */ FROM device WHERE id = ANY ($1) AND reach + 0 > 0 ORDER BY id
        """
}

enum PageStatements {
    static let insert = """
        INSERT INTO page /* pages.insert */ (
            push_id, platform_id, lane, first_device_id, last_device_id, due_at_ms, devices, answers)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    /// Leaps through `page_due` from one lane and platform to the next.
    static let bidders = """
        WITH RECURSIVE bidder /* pages.bidders */ AS (
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

    /// Leases due pages by moving their due time to the end of the lease, so nothing ever needs rescuing. Walks `page_due`,
    /// and passes over what another node is claiming.
    static let claim = """
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

    static let forSettling = """
        SELECT attempt, carry_count, is_open, answers /* pages.for_settling */ FROM page WHERE id = $1 FOR UPDATE
        """

    static let settle = """
        UPDATE page /* pages.settle */
           SET answers = $1, due_at_ms = coalesce($2, due_at_ms), retry_at_ms = $2, is_open = $3, carry_count = 0
         WHERE id = $4
        """

    /// Walks `page_device` backwards to the only page of the device's platform that can hold it.
    static let holding = """
        SELECT devices, answers /* pages.holding */ FROM page
         WHERE push_id = $1 AND platform_id = (SELECT platform_id FROM device WHERE id = $2) AND first_device_id <= $2
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// Leaps through `page_due` as `bidders` does.
    static let nextDue = """
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
        """
}
