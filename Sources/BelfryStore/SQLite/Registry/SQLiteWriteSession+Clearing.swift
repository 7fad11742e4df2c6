extension SQLiteWriteSession {
    /// Devices of retired platforms are not counted; see `QuotaStatements.devices`.
    static let countsRetired = false

    static let clearedWithPlatform: [SQLText] = [SQLiteClearingStatements.ofPlatform]
    static let clearedWithApplication = [
        OwnedTable("catalogue_count", key: "platform_id", "last_device_id", of: "platform", by: "platform_id")
    ]
    static let clearedWithTopic: [SQLText] = []
}

/// Counts of devices that only SQLite keeps.
enum SQLiteClearingStatements {
    static let ofPlatform: SQLText = """
        DELETE FROM catalogue_count /* retirement.device_counts */
         WHERE platform_id = $1 AND last_device_id IN (
            SELECT last_device_id FROM catalogue_count WHERE platform_id = $1 LIMIT $2)
        """
}
