package import BelfryCore
import GRDB

extension SQLiteStore {
    package func claimWalks(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [Walk] {
        try await writer.write { session in
            let now = session.clock.now
            return try Claims(session: session, now: now).claim(
                atMost: limit, lanes: lanes, nextBidder: WalkStatements.nextBidder, room: { _ in limit }
            ) { lane, platform, share in
                let due = try session.prepared(WalkStatements.due).all(lane.rawValue, platform, now, share) {
                    Key<Push>($0.integer(0))
                }
                return try due.compactMap { try session.lease($0, on: platform, until: now + lease, now: now) }
            }
        }
    }

    package func devices(in walk: Walk, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        let now = clock.now
        return try await read { db in
            let platform = try db.prepared(PlatformStatements.byKey).first(walk.platformKey, as: Platform.init)
            guard let platform else { return [] }
            let postings = try SQLitePostings(
                db, platform: platform.key, application: platform.applicationKey, now: now)
            return try AudienceWalk(walk.audience, reader: postings).devices(after: after, limit: limit)
        }
    }

    package func advance(_ step: WalkStep) async throws -> Bool {
        let pages = step.pages.filter { !$0.isEmpty }.map(PageDraft.init)
        return try await writer.write { session in
            let now = session.clock.now
            guard try session.move(step, behind: pages.last?.last, now: now) else { return false }
            try session.write(
                pages, of: step.walk.pushKey, on: step.walk.platformKey, in: step.walk.lane, isLast: step.isLast,
                now: now)
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
        _ pages: [PageDraft], of push: Key<Push>, on platform: Key<Platform>, in lane: Lane, isLast: Bool, now: Instant
    ) throws {
        let insert = try prepared(PageStatements.insert)
        for page in pages {
            try insert.run(push, platform, lane.rawValue, page.first, page.last, now, page.devices, page.answers)
        }
        let devices = pages.reduce(0) { $0 + $1.answers.count }
        try prepared(PushStatements.advance).run(isLast, pages.count, devices, now, push)
        effects.fallsDue = true
    }

    /// nil when its push cannot be read.
    fileprivate func lease(
        _ key: Key<Push>, on platform: Key<Platform>, until end: Instant, now: Instant
    ) throws -> Walk? {
        guard let push = try readable({ try pushes.push(key, in: db) }) ?? nil else {
            return try setAside(walkOf: key, on: platform, now: now)
        }
        try prepared(WalkStatements.lease).run(end, key, platform)
        let walk = try prepared(WalkStatements.byKey).first(key, platform) { row in
            (attempt: row.integer(0), cursor: row.integerIfAny(1).map { Key<Device>($0) })
        }
        return walk.map { walk in
            Walk(
                pushKey: key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: walk.cursor,
                attempt: walk.attempt)
        }
    }

    /// Moves the walk's cursor and hands it back, or ends it; false when it was claimed by another since.
    fileprivate func move(_ step: WalkStep, behind last: Key<Device>?, now: Instant) throws -> Bool {
        let walk = step.walk
        if step.isLast {
            try prepared(WalkStatements.end).run(walk.pushKey, walk.platformKey, walk.attempt)
        } else {
            try prepared(WalkStatements.advance).run(last, now, walk.pushKey, walk.platformKey, walk.attempt)
        }
        return db.changesCount > 0
    }
}

enum WalkStatements {
    static let insert = """
        INSERT INTO walk /* walks.insert */ (push_id, platform_id, lane, due_at_ms) VALUES (?1, ?2, ?3, ?4)
        """

    /// One leap through `walk_due`.
    static let nextBidder = """
        SELECT platform_id, due_at_ms /* walks.next_bidder */ FROM walk
         WHERE lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// Walks `walk_due`.
    static let due = """
        SELECT push_id /* walks.due */ FROM walk
         WHERE lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, push_id
         LIMIT ?4
        """

    static let lease = """
        UPDATE walk /* walks.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, is_claimed = 1
         WHERE push_id = ?2 AND platform_id = ?3
        """

    /// One that nobody claimed is due at once, so one that is not was set aside.
    static let setAside = """
        UPDATE walk /* walks.set_aside */ SET due_at_ms = ?1, is_claimed = 0 WHERE push_id = ?2 AND platform_id = ?3
        """

    static let byKey = """
        SELECT attempt, cursor /* walks.by_key */ FROM walk WHERE push_id = ?1 AND platform_id = ?2
        """

    static let advance = """
        UPDATE walk /* walks.advance */
           SET cursor = coalesce(?1, cursor), due_at_ms = ?2, is_claimed = 0
         WHERE push_id = ?3 AND platform_id = ?4 AND attempt = ?5 AND is_claimed = 1
        """

    static let end = """
        DELETE FROM walk /* walks.end */
         WHERE push_id = ?1 AND platform_id = ?2 AND attempt = ?3 AND is_claimed = 1
        """
}
