import BelfryCore

extension SQLStore {
    /// Dooms the application first, which hides it at once, and clears it away in short steps, so that other writes go
    /// on meanwhile. What a crash leaves behind is cleared by the watch of the next process.
    package func delete(_ application: Key<Application>, force: Bool) async throws {
        try await write { session in
            guard try session.prepared(ApplicationStatements.seize).first(application, as: { _ in true }) != nil else {
                throw StoreError.unknown("application \(application)")
            }
            let platforms = try session.prepared(DemolitionStatements.platformCount).first(application) {
                $0.integer(0)
            }
            if let platforms, platforms > 0, !force {
                throw StoreError.notEmpty(
                    "the application has \(platforms) platforms, which only force deletes with it")
            }
            try session.prepared(DemolitionStatements.doom).run(application)
            try session.prepared(AdminKeyStatements.revokeOfApplication).run(session.now, application)
            session.rosterChanged()
        }
        while try await write({ try Demolition(session: $0).step(application) }) {}
    }
}

/// Clears doomed applications away.
struct Demolition<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }

    func resume() throws {
        let application = try session.prepared(DemolitionStatements.doomed).first { Key<Application>($0.integer(0)) }
        if let application { _ = try step(application) }
    }

    /// Deletes some rows of the first kind that has any; false when nothing is left.
    func step(_ application: Key<Application>) throws -> Bool {
        try session.awaitSweep()
        for sql in DemolitionStatements.inOrder(with: Session.clearedWithApplication) {
            if try session.prepared(sql).run(application, Self.stride) > 0 {
                session.rosterChanged()
                return true
            }
        }
        return false
    }
}

enum DemolitionStatements {
    static let platformCount: SQLText = """
        SELECT count(*) /* demolition.platform_count */ FROM platform WHERE application_id = $1
        """

    static let doom: SQLText = """
        UPDATE application /* demolition.doom */ SET is_doomed = true WHERE id = $1
        """

    static let doomed: SQLText = """
        SELECT id /* demolition.doomed */ FROM application WHERE is_doomed LIMIT 1
        """

    /// Those that are referred to come after those that refer to them, and devices before their posting lists, so that no
    /// sweep brings one back.
    ///
    /// - Parameter own: of tables that only one engine has.
    static func inOrder(with own: [SQLText]) -> [SQLText] {
        GeofenceDemolition.inOrder + AnalyticsDemolition.inOrder + [
            schedules, pages, walks, tallies, progresses, pushes, devices,
        ] + own + [subscriptions, topics, platforms, use, application]
    }

    static let schedules: SQLText = """
        DELETE FROM schedule /* demolition.schedules */
         WHERE id IN (SELECT id FROM schedule WHERE application_id = $1 LIMIT $2)
        """

    static let pages: SQLText = """
        DELETE FROM page /* demolition.pages */
         WHERE id IN (SELECT page.id FROM push JOIN page ON page.push_id = push.id
                       WHERE push.application_id = $1 LIMIT $2)
        """

    static let walks: SQLText = """
        DELETE FROM walk /* demolition.walks */
         WHERE (push_id, platform_id) IN (SELECT walk.push_id, walk.platform_id
                                            FROM push JOIN walk ON walk.push_id = push.id
                                           WHERE push.application_id = $1 LIMIT $2)
        """

    static let tallies: SQLText = """
        DELETE FROM tally /* demolition.tallies */
         WHERE (push_id, answer) IN (SELECT tally.push_id, tally.answer
                                       FROM push JOIN tally ON tally.push_id = push.id
                                      WHERE push.application_id = $1 LIMIT $2)
        """

    static let progresses: SQLText = """
        DELETE FROM push_progress /* demolition.progresses */
         WHERE push_id IN (SELECT push_id FROM push JOIN push_progress ON push_id = push.id
                            WHERE application_id = $1 LIMIT $2)
        """

    static let pushes: SQLText = """
        DELETE FROM push /* demolition.pushes */
         WHERE id IN (SELECT id FROM push WHERE application_id = $1 LIMIT $2)
        """

    static let subscriptions: SQLText = """
        DELETE FROM subscription /* demolition.subscriptions */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id FROM topic JOIN subscription ON topic_id = topic.id
             WHERE application_id = $1 LIMIT $2)
        """

    static let topics: SQLText = """
        DELETE FROM topic /* demolition.topics */
         WHERE id IN (SELECT id FROM topic WHERE application_id = $1 LIMIT $2)
        """

    static let devices: SQLText = """
        DELETE FROM device /* demolition.devices */
         WHERE id IN (SELECT device.id FROM platform JOIN device ON platform_id = platform.id
                       WHERE application_id = $1 LIMIT $2)
        """

    static let platforms: SQLText = """
        DELETE FROM platform /* demolition.platforms */
         WHERE id IN (SELECT id FROM platform WHERE application_id = $1 LIMIT $2)
        """

    static let use: SQLText = """
        DELETE FROM application_use /* demolition.use */
         WHERE application_id IN (SELECT application_id FROM application_use WHERE application_id = $1 LIMIT $2)
        """

    static let application: SQLText = """
        DELETE FROM application /* demolition.application */
         WHERE id IN (SELECT id FROM application WHERE id = $1 AND is_doomed LIMIT $2)
        """
}
