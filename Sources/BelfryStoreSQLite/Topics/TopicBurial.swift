import BelfryCore
import GRDB

/// Takes topics away: their names at once, their posting lists in short steps.
///
/// What is left of a buried topic is cleared by `Watch`, of this process or the next. Its id is never used again, so what
/// is left misleads nobody.
struct TopicBurial {
    let session: WriteSession

    /// Topics buried, or subscriptions cleared, in one step.
    private static let stride = 200

    /// From here on nobody is subscribed, and the name is free.
    func bury(_ topic: Key<Topic>) throws {
        let application = try session.prepared(BurialStatements.delete).first(topic) { Key<Application>($0.integer(0)) }
        if let application { session.note(-1, .topics, of: application) }
        try session.prepared(BurialStatements.bury).run(topic)
        session.topics = TopicBook()
    }

    /// Buries topics whose time has come, and clears some of what is left of one.
    func step() throws {
        let expired = try session.prepared(BurialStatements.expired).all(session.clock.now, Self.stride) {
            Key<Topic>($0.integer(0))
        }
        for topic in expired { try bury(topic) }
        try clear()
    }

    private func clear() throws {
        let buried = try session.prepared(BurialStatements.next).first {
            (topic: Key<Topic>($0.integer(0)), lastDevice: $0.integer(1))
        }
        guard let buried else { return }
        try session.prepared(BurialStatements.clear).run(buried.topic, Self.stride)
        // A device that has not been swept yet may still be brought into the list.
        guard session.db.changesCount == 0, try session.postingMark().device >= buried.lastDevice else { return }
        try session.prepared(BurialStatements.forget).run(buried.topic)
    }
}

enum BurialStatements {
    static let delete = """
        DELETE FROM topic /* burial.delete */ WHERE id = ?1 RETURNING application_id
        """

    static let bury = """
        INSERT INTO buried_topic /* burial.bury */ (topic_id, last_device_id)
        SELECT ?1, coalesce(max(id), 0) FROM device
        """

    /// Walks `topic_expiry`.
    static let expired = """
        SELECT id /* burial.expired */ FROM topic WHERE expires_at_ms <= ?1 LIMIT ?2
        """

    static let next = """
        SELECT topic_id, last_device_id /* burial.next */ FROM buried_topic ORDER BY topic_id LIMIT 1
        """

    /// Walks the primary key.
    static let clear = """
        DELETE FROM subscription /* burial.clear */
         WHERE (topic_id, platform_id, device_id) IN (
            SELECT topic_id, platform_id, device_id FROM subscription WHERE topic_id = ?1 LIMIT ?2)
        """

    static let forget = """
        DELETE FROM buried_topic /* burial.forget */ WHERE topic_id = ?1
        """
}
