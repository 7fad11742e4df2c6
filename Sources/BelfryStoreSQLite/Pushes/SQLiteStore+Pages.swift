package import BelfryCore
import GRDB

extension SQLiteStore {
    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        try await writer.write { session in
            let now = session.clock.now
            return try Claims(session: session, now: now).claim(
                atMost: claim.pagesMax, lanes: claim.lanes, nextBidder: PageStatements.nextBidder,
                room: claim.room(on:)
            ) { lane, platform, share in
                try session.leasePages(
                    in: lane, on: platform, dueBy: now, atMost: share, until: now + claim.lease, now: now)
            }
        }
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        let loading = try await read { [pushes] db -> PageLoading in
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
            try await writer.write { try $0.setAside(page, now: $0.clock.now) }
            return nil
        }
    }

    package func nextDue() async throws -> Instant? {
        try await read { db in
            let earliest = try [PageStatements.nextDue, WalkStatements.nextDue].compactMap { sql in
                try db.prepared(sql).first { $0.integerIfAny(0) } ?? nil
            }.min()
            return earliest.map(Instant.init(milliseconds:))
        }
    }

    package func hints() -> AsyncStream<Void> { signals.stream() }
}

extension WriteSession {
    /// Leases pages, the longest due first, and puts those out of the way that cannot be read.
    func leasePages(
        in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant, now: Instant
    ) throws -> [Page] {
        let due = try prepared(PageStatements.due).all(lane.rawValue, platform, dueBy, limit) { row in
            (
                key: Key<Page>(row.integer(0)),
                page: try readable { try Page(claiming: row, in: lane, on: platform, at: now) }
            )
        }
        let lease = try prepared(PageStatements.lease)
        return try due.compactMap { key, page in
            guard let page else { return try setAside(key, now: now) }
            try lease.run(end, key)
            return page
        }
    }
}

extension Page {
    /// From the columns of `PageStatements.due`, as they are before the claim.
    fileprivate init(claiming row: Columns, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
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

extension Database {
    /// To find a device costs about as much as to pass by ten.
    private static let gapMax: Int64 = 8

    /// Devices of a page stand close to one another when its push goes to most of a platform: then one stretch of the
    /// table holds them, and reading a few others in between costs less than finding each.
    fileprivate func recipients(of page: Page) throws -> [Recipient] {
        let ready = page.ready.map { page.devices[$0] }
        guard let first = ready.first, let last = ready.last else { return [] }
        return last.rawValue - first.rawValue < Int64(ready.count) * Self.gapMax
            ? try recipients(among: ready, from: first, to: last) : try recipients(oneByOne: ready)
    }

    private func recipients(
        among ready: [Key<Device>], from first: Key<Device>, to last: Key<Device>
    ) throws -> [Recipient] {
        var recipients: [Recipient] = []
        recipients.reserveCapacity(ready.count)
        var next = 0
        try prepared(TokenStatements.stretch).each(first, last) { row in
            let key = Key<Device>(row.integer(0))
            while next < ready.count, ready[next] < key { next += 1 }
            guard next < ready.count, ready[next] == key else { return }
            recipients.append(Recipient(device: key, token: DeviceToken(bytes: row.blob(1))))
        }
        return recipients
    }

    private func recipients(oneByOne ready: [Key<Device>]) throws -> [Recipient] {
        let statement = try prepared(TokenStatements.one)
        return try ready.compactMap { key in
            try statement.first(key) { Recipient(device: key, token: DeviceToken(bytes: $0.blob(0))) }
        }
    }
}

enum TokenStatements {
    static let stretch = """
        SELECT id, token /* tokens.stretch */ FROM device
         WHERE id BETWEEN ?1 AND ?2 AND reach > 0
         ORDER BY id
        """

    static let one = """
        SELECT token /* tokens.one */ FROM device WHERE id = ?1 AND reach > 0
        """
}

enum PageStatements {
    static let insert = """
        INSERT INTO page /* pages.insert */ (
            push_id, platform_id, lane, first_device_id, last_device_id, due_at_ms, devices, answers)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """

    /// One leap through `page_due`.
    static let nextBidder = """
        SELECT platform_id, due_at_ms /* pages.next_bidder */ FROM page
         WHERE is_open = 1 AND lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// Walks `page_due`.
    static let due = """
        SELECT id, push_id, attempt, carry_count, devices, answers, coalesce(retry_at_ms, due_at_ms) /* pages.due */
          FROM page
         WHERE is_open = 1 AND lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, id
         LIMIT ?4
        """

    /// Leases a page by moving its due time to the end of the lease, so nothing ever needs rescuing.
    static let lease = """
        UPDATE page /* pages.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, carry_count = carry_count + 1
         WHERE id = ?2
        """

    static let setAside = "UPDATE page /* pages.set_aside */ SET due_at_ms = ?1 WHERE id = ?2"

    static let forSettling = """
        SELECT attempt, carry_count, is_open, answers /* pages.for_settling */ FROM page WHERE id = ?1
        """

    static let settle = """
        UPDATE page /* pages.settle */
           SET answers = ?1, due_at_ms = coalesce(?2, due_at_ms), retry_at_ms = ?2, is_open = ?3, carry_count = 0
         WHERE id = ?4
        """

    /// Walks `page_device` backwards to the only page of the device's platform that can hold it.
    static let holding = """
        SELECT devices, answers /* pages.holding */ FROM page
         WHERE push_id = ?1 AND platform_id = (SELECT platform_id FROM device WHERE id = ?2) AND first_device_id <= ?2
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// Walks `page_due` from platform to platform.
    static let nextDue = """
        SELECT min((SELECT min(due_at_ms) FROM page
                     WHERE is_open = 1 AND page.lane = lane.id AND platform_id = platform.id)) /* pages.next_due */
          FROM platform JOIN application ON application.id = application_id
          JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
         WHERE parked_cause IS NULL AND is_retired = 0 AND is_doomed = 0
        """
}

extension WalkStatements {
    /// Walks `walk_due` from platform to platform.
    static let nextDue = """
        SELECT min((SELECT min(due_at_ms) FROM walk
                     WHERE walk.lane = lane.id AND platform_id = platform.id)) /* walks.next_due */
          FROM platform JOIN application ON application.id = application_id
          JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
         WHERE parked_cause IS NULL AND is_retired = 0 AND is_doomed = 0
        """
}
