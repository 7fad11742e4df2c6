extension PostgresWriteSession {
    /// Nodes store what they count; see `SharedUse`.
    static let countsDeleted = true

    static let clearedWithPlatform: [SQLText] = [PostgresClearingStatements.ofPlatform]
    static let clearedWithApplication = [
        OwnedTable(
            "subscription_block", key: "topic_id", "platform_id", "first_device_id", of: "topic", by: "topic_id")
    ]
    static let clearedWithTopic: [SQLText] = [PostgresClearingStatements.ofTopic]
}

/// Posting lists that only PostgreSQL has.
enum PostgresClearingStatements {
    static let ofPlatform: SQLText = """
        DELETE FROM subscription_block /* platform_deletion.blocks */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id
              FROM topic JOIN subscription_block ON topic_id = topic.id AND platform_id = $1
             WHERE application_id = (SELECT application_id FROM platform WHERE id = $1)
             LIMIT $2)
        """

    /// Scans the primary key.
    static let ofTopic: SQLText = """
        DELETE FROM subscription_block /* topic_deletion.clear_blocks */
         WHERE (topic_id, platform_id, first_device_id) IN (
            SELECT topic_id, platform_id, first_device_id FROM subscription_block WHERE topic_id = $1 LIMIT $2)
        """
}
