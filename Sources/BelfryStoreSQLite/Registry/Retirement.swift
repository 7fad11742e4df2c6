package import BelfryCore
import GRDB

extension SQLiteStore {
    /// Retires the platform first, which hides it at once, and clears it away in short steps, so that other writes go on
    /// meanwhile. What a crash leaves behind is cleared by `Watch` of the next process.
    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        try await writer.write { session in
            guard let stand = try session.stand(of: platform) else { throw StoreError.unknown("platform \(platform)") }
            let isInUse = try session.prepared(RetirementStatements.anyActive).first(platform) { _ in true } ?? false
            guard force || !isInUse else {
                throw StoreError.notEmpty("the platform has active devices, which only force deletes with it")
            }
            try session.prepared(RetirementStatements.retire).run(platform)
            session.quotaBook.forget(QuotaAccount(.devices, of: stand.application))
            session.rosterChanged()
        }
        while try await writer.write({ try Retirement(session: $0).step(platform) }) {}
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
        for lane in Lane.allCases where try endWalks(on: platform, in: lane) { return true }
        for lane in Lane.allCases where try answerPages(on: platform, in: lane) { return true }
        for sql in RetirementStatements.inOrder {
            try session.prepared(sql).run(platform, Self.stride)
            guard session.db.changesCount > 0 else { continue }
            session.gains = nil
            return true
        }
        return false
    }

    private func endWalks(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        let pushes = try session.prepared(WalkStatements.due).all(
            lane.rawValue, platform, Instant.distantFuture, Self.pagesAtOnce
        ) { Key<Push>($0.integer(0)) }
        for push in pushes {
            try session.prepared(RetirementStatements.endWalk).run(push, platform)
            try session.write([], of: push, on: platform, in: lane, isLast: true, now: session.clock.now)
        }
        return !pushes.isEmpty
    }

    private func answerPages(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        let now = session.clock.now
        // The lease turns away the courier that may be carrying them.
        let pages = try session.leasePages(
            in: lane, on: platform, dueBy: .distantFuture, atMost: Self.pagesAtOnce, until: now, now: now)
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
        SELECT 1 /* retirement.any_active */ FROM device WHERE platform_id = ?1 AND reach > 0 LIMIT 1
        """

    static let retire = """
        UPDATE platform /* retirement.retire */ SET is_retired = 1 WHERE id = ?1
        """

    static let retired = """
        SELECT id /* retirement.retired */ FROM platform WHERE is_retired = 1 LIMIT 1
        """

    static let endWalk = """
        DELETE FROM walk /* retirement.end_walk */ WHERE push_id = ?1 AND platform_id = ?2
        """

    static let inOrder = [devices, deviceCounts, subscriptions, eventCounts, heartbeats, platform]

    static let devices = """
        DELETE FROM device /* retirement.devices */
         WHERE id IN (SELECT id FROM device WHERE platform_id = ?1 LIMIT ?2)
        """

    static let deviceCounts = """
        DELETE FROM catalogue_count /* retirement.device_counts */
         WHERE platform_id = ?1 AND last_device_id IN (
            SELECT last_device_id FROM catalogue_count WHERE platform_id = ?1 LIMIT ?2)
        """

    static let eventCounts = """
        DELETE FROM platform_count /* retirement.event_counts */
         WHERE (platform_id, hour, kind) IN (
            SELECT platform_id, hour, kind FROM platform_count WHERE platform_id = ?1 LIMIT ?2)
        """

    static let heartbeats = """
        DELETE FROM heartbeat /* retirement.heartbeats */
         WHERE (platform_id, device_id) IN (
            SELECT platform_id, device_id FROM heartbeat WHERE platform_id = ?1 LIMIT ?2)
        """

    static let subscriptions = """
        DELETE FROM subscription /* retirement.subscriptions */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id
              FROM topic JOIN subscription ON topic_id = topic.id AND platform_id = ?1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = ?1)
             LIMIT ?2)
        """

    static let platform = """
        DELETE FROM platform /* retirement.platform */
         WHERE id IN (SELECT id FROM platform WHERE id = ?1 AND is_retired = 1 LIMIT ?2)
        """
}
