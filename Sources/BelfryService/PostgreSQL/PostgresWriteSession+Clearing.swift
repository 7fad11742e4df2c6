extension PostgresWriteSession {
    /// Nodes store what they count; see `SharedUse`.
    static let countsDeleted = true

    static let clearedWithPlatform = [
        PlatformDeletionStatements.lists("subscription_block", key: "topic_id, platform_id, first_device_id")
    ]
    static let clearedWithApplication = [
        OwnedTable(
            "subscription_block", key: "topic_id", "platform_id", "first_device_id", of: "topic", by: "topic_id")
    ]
    /// Scans the primary key.
    static let clearedWithTopic = [
        SQLText.deleteSome(
            "topic_deletion.clear_blocks", from: "subscription_block", key: "topic_id, platform_id, first_device_id",
            where: "topic_id = $1")
    ]
}
