import BelfryCore

extension SQLStore {
    /// Retires the platform first, which hides it at once, and clears it away in short steps, so that other writes go on
    /// meanwhile. What a crash leaves behind is cleared by the watch of the next process.
    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        try await write { session in
            let seized = try session.prepared(PlatformStatements.seize).first(platform) {
                Key<Application>($0.integer(0))
            }
            guard let application = seized else { throw StoreError.unknown("platform \(platform)") }
            let isInUse = try session.prepared(RetirementStatements.anyActive).first(platform) { _ in true } ?? false
            guard force || !isInUse else {
                throw StoreError.notEmpty("the platform has active devices, which only force deletes with it")
            }
            try session.prepared(RetirementStatements.retire).run(platform)
            if !Session.countsRetired { session.quotaBook.forget(QuotaAccount(.devices, of: application)) }
            session.rosterChanged()
        }
        while try await write({ try Retirement(session: $0).step(platform) }) {}
    }
}

/// Clears retired platforms away. What pushes still wait for there is answered, so that their counters stay right.
struct Retirement<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }
    /// Pages and walks ended in one step.
    private static var pagesAtOnce: Int { 50 }

    func resume() throws {
        let platform = try session.prepared(RetirementStatements.retired).first { Key<Platform>($0.integer(0)) }
        if let platform { _ = try step(platform) }
    }

    /// Ends or deletes some rows of the first kind that has any; false when nothing is left. Walks come before the pages
    /// they would write, and devices before their posting lists, so that no sweep brings one back.
    func step(_ platform: Key<Platform>) throws -> Bool {
        try session.awaitSweep()
        for lane in Lane.allCases where try endWalks(on: platform, in: lane) { return true }
        for lane in Lane.allCases where try answerPages(on: platform, in: lane) { return true }
        if try deleteDevices(of: platform) { return true }
        for sql in Session.clearedWithPlatform + RetirementStatements.inOrder {
            if try session.prepared(sql).run(platform, Self.stride) > 0 { return true }
        }
        return false
    }

    private func deleteDevices(of platform: Key<Platform>) throws -> Bool {
        let deleted = try session.prepared(RetirementStatements.devices).all(platform, Self.stride) {
            Key<Application>($0.integer(0))
        }
        if Session.countsRetired, let application = deleted.first {
            session.note(-deleted.count, .devices, of: application)
        }
        return !deleted.isEmpty
    }

    private func endWalks(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        let pushes = try session.prepared(RetirementStatements.endWalks).all(
            lane.rawValue, platform, Self.pagesAtOnce
        ) { Key<Push>($0.integer(0)) }
        for push in pushes { try session.write([], of: push, on: platform, in: lane, isLast: true) }
        return !pushes.isEmpty
    }

    private func answerPages(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        // The claim turns away the courier that may be carrying it.
        let pages = try session.leasePages(
            in: lane, on: platform, dueBy: .distantFuture, atMost: Self.pagesAtOnce, until: session.now, waiting: true)
        for page in pages {
            let answers = page.answers.map { $0 == .pending ? .skipped(.missing) : $0 }
            let settlement = Settlement(page: page, answers: answers, retryAt: nil)
            _ = try Settling(session: session, settlement: settlement).settle()
        }
        return !pages.isEmpty
    }
}

enum RetirementStatements {
    /// Walks `device_reach`, which covers it.
    static let anyActive: SQLText = """
        SELECT 1 /* retirement.any_active */ FROM device WHERE platform_id = $1 AND reach > 0 LIMIT 1
        """

    static let retire: SQLText = "UPDATE platform /* retirement.retire */ SET is_retired = true WHERE id = $1"

    static let retired: SQLText = "SELECT id /* retirement.retired */ FROM platform WHERE is_retired LIMIT 1"

    /// Walks `walk_due`.
    static let endWalks: SQLText = """
        DELETE FROM walk /* retirement.end_walks */
         WHERE platform_id = $2 AND push_id IN (
            SELECT push_id FROM walk WHERE lane = $1 AND platform_id = $2 LIMIT $3)
        RETURNING push_id
        """

    static let inOrder: [SQLText] = [subscriptions, eventCounts, heartbeats, platform]

    static let devices: SQLText = """
        DELETE FROM device /* retirement.devices */
         WHERE id IN (SELECT id FROM device WHERE platform_id = $1 LIMIT $2)
        RETURNING (SELECT application_id FROM platform WHERE platform.id = $1)
        """

    static let eventCounts: SQLText = """
        DELETE FROM platform_count /* retirement.event_counts */
         WHERE (platform_id, hour, kind) IN (
            SELECT platform_id, hour, kind FROM platform_count WHERE platform_id = $1 LIMIT $2)
        """

    static let heartbeats: SQLText = """
        DELETE FROM heartbeat /* retirement.heartbeats */
         WHERE (platform_id, device_id) IN (
            SELECT platform_id, device_id FROM heartbeat WHERE platform_id = $1 LIMIT $2)
        """

    static let subscriptions: SQLText = """
        DELETE FROM subscription /* retirement.subscriptions */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id
              FROM topic JOIN subscription ON topic_id = topic.id AND platform_id = $1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = $1)
             LIMIT $2)
        """

    static let platform: SQLText = """
        DELETE FROM platform /* retirement.platform */
         WHERE id IN (SELECT id FROM platform WHERE id = $1 AND is_retired LIMIT $2)
           AND NOT EXISTS (SELECT 1 FROM page WHERE is_open = true AND lane IN (0, 1, 2) AND platform_id = $1)
           AND NOT EXISTS (SELECT 1 FROM walk WHERE lane IN (0, 1, 2) AND platform_id = $1)
        """
}
