/// Deletes topics: their names at once, their posting lists in short steps.
///
/// The rest of a deleted topic is cleared by the maintenance of this process or the next. Its id is never reused, so
/// the rest is harmless.
struct TopicDeletion<Session: WriteSession> {
    let session: Session

    /// Topics deleted, or subscriptions cleared, in one step.
    private static var stride: Int { 200 }

    /// Unsubscribes all devices and frees the name.
    func delete(_ topic: Key<Topic>, of application: Key<Application>) throws {
        try session.forgetTopics()
        try session.prepared(TopicDeletionStatements.delete).send(topic)
        try session.prepared(TopicDeletionStatements.note).send(topic)
        session.note(-1, .topics, of: application)
    }

    /// Deletes expired topics, and clears some of the rest of a deleted one.
    func step() throws {
        let expired = try session.prepared(TopicDeletionStatements.expired).all(session.now, Self.stride) {
            (topic: Key<Topic>($0.integer(0)), application: Key<Application>($0.integer(1)))
        }
        for each in expired { try delete(each.topic, of: each.application) }
        try clear()
    }

    private func clear() throws {
        let deletedTopics = try session.prepared(TopicDeletionStatements.next).first {
            (topic: Key<Topic>($0.integer(0)), lastDevice: $0.integer(1))
        }
        guard let deletedTopics else { return }
        for sql in [TopicDeletionStatements.clear] + Session.clearedWithTopic {
            if try session.prepared(sql).run(deletedTopics.topic, Self.stride) > 0 { return }
        }
        // A device that has not been merged yet may still be added to the list.
        guard try session.db.postingMark().device >= deletedTopics.lastDevice else { return }
        try session.prepared(TopicDeletionStatements.forget).send(deletedTopics.topic)
    }
}

enum TopicDeletionStatements {
    static let delete: SQLText = "DELETE FROM topic /* topic_deletion.delete */ WHERE id = $1"

    /// In PostgreSQL a transaction that adds to the lists locks the topic, and so had ended when it was deleted.
    static let note: SQLText = """
        INSERT INTO deleted_topic /* topic_deletion.note */ \(
            sqlite: "(topic_id, last_device_id) SELECT $1, coalesce(max(id), 0) FROM device",
            postgres: "(topic_id) VALUES ($1) ON CONFLICT DO NOTHING")
        """

    /// Scans `topic_expiry`.
    static let expired: SQLText = """
        SELECT id, application_id /* topic_deletion.expired */ FROM topic WHERE expires_at_ms <= $1 LIMIT $2
        """

    static let next: SQLText = """
        SELECT topic_id, last_device_id /* topic_deletion.next */ FROM deleted_topic ORDER BY topic_id LIMIT 1
        """

    /// Scans the primary key.
    static let clear = SQLText.deleteSome(
        "topic_deletion.clear", from: "subscription", key: "topic_id, platform_id, device_id", where: "topic_id = $1")

    static let forget: SQLText = "DELETE FROM deleted_topic /* topic_deletion.forget */ WHERE topic_id = $1"
}
