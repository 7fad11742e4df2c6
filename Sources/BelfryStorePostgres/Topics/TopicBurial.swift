import BelfryCore
import PostgreSQL

/// Takes topics away: their names at once, their posting lists in short steps.
///
/// What is left of a buried topic is cleared by `Watch`, of this process or the next. Its id is never used again, so what
/// is left misleads nobody.
struct TopicBurial {
    let session: WriteSession

    /// Topics buried, or subscriptions cleared, in one step.
    private static let stride = 200

    /// From here on nobody is subscribed, and the name is free.
    func bury(_ topic: Key<Topic>, of application: Key<Application>) throws {
        // First, so that of two who bury neither waits for the other's topics.
        try session.prepared(BurialStatements.countOn).send()
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
        let buried = try session.prepared(BurialStatements.next).first { Key<Topic>($0.integer(0)) }
        guard let buried else { return }
        // Whoever adds to the lists holds the topic, and so was done when it was buried.
        for sql in [BurialStatements.clear, BurialStatements.clearStretches] {
            if try session.prepared(sql).run(buried, Self.stride) > 0 { return }
        }
        try session.prepared(BurialStatements.forget).send(buried)
    }
}

enum BurialStatements {
    static let count = """
        SELECT burial_count /* burial.count */ FROM topic_burial WHERE id = 1
        """

    static let countOn = """
        UPDATE topic_burial /* burial.count_on */ SET burial_count = burial_count + 1 WHERE id = 1
        """

    static let delete = """
        DELETE FROM topic /* burial.delete */ WHERE id = $1
        """

    static let bury = """
        INSERT INTO buried_topic /* burial.bury */ (topic_id) VALUES ($1) ON CONFLICT DO NOTHING
        """

    /// Walks `topic_expiry`.
    static let expired = """
        SELECT id, application_id /* burial.expired */ FROM topic WHERE expires_at_ms <= $1 LIMIT $2
        """

    static let next = """
        SELECT topic_id /* burial.next */ FROM buried_topic ORDER BY topic_id LIMIT 1
        """

    /// Walks the primary key.
    static let clear = """
        DELETE FROM subscription /* burial.clear */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id FROM subscription WHERE topic_id = $1 LIMIT $2)
        """

    /// Walks the primary key.
    static let clearStretches = """
        DELETE FROM subscription_stretch /* burial.clear_stretches */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id FROM subscription_stretch WHERE topic_id = $1 LIMIT $2)
        """

    static let forget = """
        DELETE FROM buried_topic /* burial.forget */ WHERE topic_id = $1
        """
}
