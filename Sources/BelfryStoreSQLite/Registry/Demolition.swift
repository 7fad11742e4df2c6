package import BelfryCore
import GRDB

extension SQLiteStore {
    /// Dooms the application first, which hides it at once, and clears it away in short steps, so that other writes go
    /// on meanwhile. What a crash leaves behind is cleared by `Watch` of the next process.
    package func delete(_ application: Key<Application>, force: Bool) async throws {
        try await writer.write { session in
            guard try session.exists(application) else { throw StoreError.unknown("application \(application)") }
            let platforms = try session.prepared(DemolitionStatements.platformCount).first(application) {
                $0.integer(0)
            }
            if let platforms, platforms > 0, !force {
                throw StoreError.notEmpty(
                    "the application has \(platforms) platforms, which only force deletes with it")
            }
            try session.prepared(DemolitionStatements.doom).run(application)
            try session.prepared(AdminKeyStatements.revokeOfApplication).run(session.clock.now, application)
            session.rosterChanged()
        }
        while try await writer.write({ try Demolition(session: $0).step(application) }) {}
    }
}

/// Clears doomed applications away.
struct Demolition {
    let session: WriteSession

    /// Rows of one kind deleted in one step.
    private static let stride = 200

    func resume() throws {
        let application = try session.prepared(DemolitionStatements.doomed).first { Key<Application>($0.integer(0)) }
        if let application { _ = try step(application) }
    }

    /// Deletes some rows of the first kind that has any; false when nothing is left.
    func step(_ application: Key<Application>) throws -> Bool {
        for sql in DemolitionStatements.inOrder {
            try session.prepared(sql).run(application, Self.stride)
            if session.db.changesCount > 0 {
                session.gains = nil
                session.rosterChanged()
                return true
            }
        }
        return false
    }
}

enum DemolitionStatements {
    static let platformCount = """
        SELECT count(*) /* demolition.platform_count */ FROM platform WHERE application_id = ?1
        """

    static let doom = """
        UPDATE application /* demolition.doom */ SET is_doomed = 1 WHERE id = ?1
        """

    static let doomed = """
        SELECT id /* demolition.doomed */ FROM application WHERE is_doomed = 1 LIMIT 1
        """

    /// Those that are referred to come after those that refer to them, and devices before their posting lists, so that no
    /// sweep brings one back.
    static let inOrder =
        GeofenceDemolition.inOrder + AnalyticsDemolition.inOrder + [
            schedules, pages, walks, tallies, progresses, pushes, devices, deviceCounts, subscriptions, topics,
            platforms, use, application,
        ]

    static let schedules = """
        DELETE FROM schedule /* demolition.schedules */
         WHERE id IN (SELECT id FROM schedule WHERE application_id = ?1 LIMIT ?2)
        """

    static let pages = """
        DELETE FROM page /* demolition.pages */
         WHERE id IN (SELECT page.id FROM push JOIN page ON page.push_id = push.id
                       WHERE push.application_id = ?1 LIMIT ?2)
        """

    static let walks = """
        DELETE FROM walk /* demolition.walks */
         WHERE (push_id, platform_id) IN (SELECT walk.push_id, walk.platform_id
                                            FROM push JOIN walk ON walk.push_id = push.id
                                           WHERE push.application_id = ?1 LIMIT ?2)
        """

    static let tallies = """
        DELETE FROM tally /* demolition.tallies */
         WHERE (push_id, answer) IN (SELECT tally.push_id, tally.answer
                                       FROM push JOIN tally ON tally.push_id = push.id
                                      WHERE push.application_id = ?1 LIMIT ?2)
        """

    static let progresses = """
        DELETE FROM push_progress /* demolition.progresses */
         WHERE push_id IN (SELECT push_id FROM push JOIN push_progress ON push_id = push.id
                            WHERE application_id = ?1 LIMIT ?2)
        """

    static let pushes = """
        DELETE FROM push /* demolition.pushes */
         WHERE id IN (SELECT id FROM push WHERE application_id = ?1 LIMIT ?2)
        """

    static let subscriptions = """
        DELETE FROM subscription /* demolition.subscriptions */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id FROM topic JOIN subscription ON topic_id = topic.id
             WHERE application_id = ?1 LIMIT ?2)
        """

    static let topics = """
        DELETE FROM topic /* demolition.topics */
         WHERE id IN (SELECT id FROM topic WHERE application_id = ?1 LIMIT ?2)
        """

    static let devices = """
        DELETE FROM device /* demolition.devices */
         WHERE id IN (SELECT device.id FROM platform JOIN device ON platform_id = platform.id
                       WHERE application_id = ?1 LIMIT ?2)
        """

    static let deviceCounts = """
        DELETE FROM catalogue_count /* demolition.device_counts */
         WHERE (platform_id, last_device_id) IN (
            SELECT platform_id, last_device_id FROM platform JOIN catalogue_count ON platform_id = platform.id
             WHERE application_id = ?1 LIMIT ?2)
        """

    static let platforms = """
        DELETE FROM platform /* demolition.platforms */
         WHERE id IN (SELECT id FROM platform WHERE application_id = ?1 LIMIT ?2)
        """

    static let use = """
        DELETE FROM application_use /* demolition.use */
         WHERE application_id IN (SELECT application_id FROM application_use WHERE application_id = ?1 LIMIT ?2)
        """

    static let application = """
        DELETE FROM application /* demolition.application */
         WHERE id IN (SELECT id FROM application WHERE id = ?1 AND is_doomed = 1 LIMIT ?2)
        """
}
