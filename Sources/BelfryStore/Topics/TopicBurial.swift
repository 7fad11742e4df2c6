import BelfryCore

/// Takes topics away: their names at once, their posting lists in short steps.
///
/// What is left of a buried topic is cleared by the watch, of this process or the next. Its id is never used again, so what
/// is left misleads nobody.
struct TopicBurial<Session: WriteSession> {
    let session: Session

    /// Topics buried, or subscriptions cleared, in one step.
    private static var stride: Int { 200 }

    /// From here on nobody is subscribed, and the name is free.
    func bury(_ topic: Key<Topic>, of application: Key<Application>) throws {
        try session.forgetTopics()
        try session.prepared(BurialStatements.delete).send(topic)
        try session.prepared(BurialStatements.bury).send(topic)
        session.note(-1, .topics, of: application)
    }

    /// Buries topics whose time has come, and clears some of what is left of one.
    func step() throws {
        let expired = try session.prepared(BurialStatements.expired).all(session.now, Self.stride) {
            (topic: Key<Topic>($0.integer(0)), application: Key<Application>($0.integer(1)))
        }
        for each in expired { try bury(each.topic, of: each.application) }
        try clear()
    }

    private func clear() throws {
        let buried = try session.prepared(BurialStatements.next).first {
            (topic: Key<Topic>($0.integer(0)), lastDevice: $0.integer(1))
        }
        guard let buried else { return }
        for sql in [BurialStatements.clear] + Session.clearedWithTopic {
            if try session.prepared(sql).run(buried.topic, Self.stride) > 0 { return }
        }
        // A device that has not been swept yet may still be brought into the list.
        guard try session.db.subscriptionMark() >= buried.lastDevice else { return }
        try session.prepared(BurialStatements.forget).send(buried.topic)
    }
}

enum BurialStatements {
    static let delete: SQLText = "DELETE FROM topic /* burial.delete */ WHERE id = $1"

    /// In PostgreSQL whoever adds to the lists holds the topic, and so was done when it was buried.
    static let bury: SQLText = """
        INSERT INTO buried_topic /* burial.bury */ \(
            sqlite: "(topic_id, last_device_id) SELECT $1, coalesce(max(id), 0) FROM device",
            postgres: "(topic_id) VALUES ($1) ON CONFLICT DO NOTHING")
        """

    /// Walks `topic_expiry`.
    static let expired: SQLText = """
        SELECT id, application_id /* burial.expired */ FROM topic WHERE expires_at_ms <= $1 LIMIT $2
        """

    static let next: SQLText = """
        SELECT topic_id, \(sqlite: "last_device_id", postgres: "0") /* burial.next */ FROM buried_topic
         ORDER BY topic_id LIMIT 1
        """

    /// Walks the primary key.
    static let clear: SQLText = """
        DELETE FROM subscription /* burial.clear */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id FROM subscription WHERE topic_id = $1 LIMIT $2)
        """

    static let forget: SQLText = "DELETE FROM buried_topic /* burial.forget */ WHERE topic_id = $1"
}
