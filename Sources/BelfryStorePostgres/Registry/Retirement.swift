package import BelfryCore
import PostgreSQL

extension PostgresStore {
    /// Retires the platform first, which hides it at once, and clears it away in short steps, so that other writes go on
    /// meanwhile. What a crash leaves behind is cleared by `Watch` of the next process.
    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        try await write { session in
            guard try session.prepared(PlatformStatements.seize).first(platform, as: { _ in true }) != nil else {
                throw StoreError.unknown("platform \(platform)")
            }
            let isInUse = try session.prepared(RetirementStatements.anyActive).first(platform) { _ in true } ?? false
            guard force || !isInUse else {
                throw StoreError.notEmpty("the platform has active devices, which only force deletes with it")
            }
            try session.prepared(RetirementStatements.retire).run(platform)
            session.rosterChanged()
        }
        while try await write({ try Retirement(session: $0).step(platform) }) {}
    }
}

/// Clears retired platforms away. What pushes still wait for there is answered, so that their counters stay right.
struct Retirement {
    let session: WriteSession

    /// Rows of one kind deleted in one step.
    private static let stride = 200
    /// Pages and walks ended in one step.
    private static let pagesAtOnce = 50

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
        for sql in RetirementStatements.inOrder {
            if try session.prepared(sql).run(platform, Self.stride) > 0 { return true }
        }
        return false
    }

    private func deleteDevices(of platform: Key<Platform>) throws -> Bool {
        let deleted = try session.prepared(RetirementStatements.devices).all(platform, Self.stride) {
            Key<Application>($0.integer(0))
        }
        if let application = deleted.first { session.note(-deleted.count, .devices, of: application) }
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
            RetirementStatements.claimPages, in: lane, on: platform, dueBy: .distantFuture, atMost: Self.pagesAtOnce,
            until: session.now)
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
    static let anyActive = """
        SELECT 1 /* retirement.any_active */ FROM device WHERE platform_id = $1 AND reach > 0 LIMIT 1
        """

    static let retire = """
        UPDATE platform /* retirement.retire */ SET is_retired = true WHERE id = $1
        """

    static let retired = """
        SELECT id /* retirement.retired */ FROM platform WHERE is_retired LIMIT 1
        """

    /// Walks `walk_due`.
    static let endWalks = """
        DELETE FROM walk /* retirement.end_walks */
         WHERE platform_id = $2 AND push_id IN (
            SELECT push_id FROM walk WHERE lane = $1 AND platform_id = $2 LIMIT $3)
        RETURNING push_id
        """

    /// As `PageStatements.claim`, but waits for those that are being claimed or settled: none is left behind.
    static let claimPages = """
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

    static let inOrder = [subscriptions, stretches, eventCounts, heartbeats, platform]

    static let devices = """
        DELETE FROM device /* retirement.devices */
         WHERE id IN (SELECT id FROM device WHERE platform_id = $1 LIMIT $2)
        RETURNING (SELECT application_id FROM platform WHERE platform.id = $1)
        """

    static let eventCounts = """
        DELETE FROM platform_count /* retirement.event_counts */
         WHERE (platform_id, hour, kind) IN (
            SELECT platform_id, hour, kind FROM platform_count WHERE platform_id = $1 LIMIT $2)
        """

    static let heartbeats = """
        DELETE FROM heartbeat /* retirement.heartbeats */
         WHERE (platform_id, device_id) IN (
            SELECT platform_id, device_id FROM heartbeat WHERE platform_id = $1 LIMIT $2)
        """

    static let subscriptions = """
        DELETE FROM subscription /* retirement.subscriptions */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id
              FROM topic JOIN subscription ON topic_id = topic.id AND platform_id = $1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = $1)
             LIMIT $2)
        """

    static let stretches = """
        DELETE FROM subscription_stretch /* retirement.stretches */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id
              FROM topic JOIN subscription_stretch ON topic_id = topic.id AND platform_id = $1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = $1)
             LIMIT $2)
        """

    static let platform = """
        DELETE FROM platform /* retirement.platform */
         WHERE id IN (SELECT id FROM platform WHERE id = $1 AND is_retired LIMIT $2)
           AND NOT EXISTS (SELECT 1 FROM page WHERE is_open AND lane IN (0, 1, 2) AND platform_id = $1)
           AND NOT EXISTS (SELECT 1 FROM walk WHERE lane IN (0, 1, 2) AND platform_id = $1)
        """
}
