extension SQLiteWriteSession {
    /// Devices of deleted platforms are not counted; see `QuotaStatements.devices`.
    static let countsDeleted = false

    static let clearedWithPlatform: [SQLText] = [SQLiteClearingStatements.ofPlatform]
    static let clearedWithApplication = [
        OwnedTable("search_index_count", key: "platform_id", "last_device_id", of: "platform", by: "platform_id")
    ]
    static let clearedWithTopic: [SQLText] = []
}

/// Counts of devices that only SQLite has.
enum SQLiteClearingStatements {
    static let ofPlatform: SQLText = """
        DELETE FROM search_index_count /* platform_deletion.device_counts */
         WHERE platform_id = $1 AND last_device_id IN (
            SELECT last_device_id FROM search_index_count WHERE platform_id = $1 LIMIT $2)
        """
}
