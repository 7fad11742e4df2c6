extension PostgresWriteSession {
    /// Nodes write down what they count; see `SharedUse`.
    static let countsRetired = true

    static let clearedWithPlatform: [SQLText] = [PostgresClearingStatements.ofPlatform]
    static let clearedWithApplication = [
        OwnedTable(
            "subscription_stretch", key: "topic_id", "platform_id", "first_device_id", of: "topic", by: "topic_id")
    ]
    static let clearedWithTopic: [SQLText] = [PostgresClearingStatements.ofTopic]
}

/// Posting lists that only PostgreSQL has.
enum PostgresClearingStatements {
    static let ofPlatform: SQLText = """
        DELETE FROM subscription_stretch /* retirement.stretches */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id
              FROM topic JOIN subscription_stretch ON topic_id = topic.id AND platform_id = $1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = $1)
             LIMIT $2)
        """

    /// Walks the primary key.
    static let ofTopic: SQLText = """
        DELETE FROM subscription_stretch /* burial.clear_stretches */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id FROM subscription_stretch WHERE topic_id = $1 LIMIT $2)
        """
}
