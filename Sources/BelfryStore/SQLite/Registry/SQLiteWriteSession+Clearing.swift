extension SQLiteWriteSession {
    /// Devices of retired platforms are not counted; see `QuotaStatements.devices`.
    static let countsRetired = false

    static let clearedWithPlatform: [SQLText] = [SQLiteClearingStatements.ofPlatform]
    static let clearedWithApplication: [SQLText] = [SQLiteClearingStatements.ofApplication]
    static let clearedWithTopic: [SQLText] = []
}

/// Counts of devices that only SQLite keeps.
enum SQLiteClearingStatements {
    static let ofPlatform: SQLText = """
        DELETE FROM catalogue_count /* retirement.device_counts */
         WHERE platform_id = $1 AND last_device_id IN (
            SELECT last_device_id FROM catalogue_count WHERE platform_id = $1 LIMIT $2)
        """

    static let ofApplication: SQLText = """
        DELETE FROM catalogue_count /* demolition.device_counts */
         WHERE (platform_id, last_device_id) IN (
            SELECT platform_id, last_device_id FROM platform JOIN catalogue_count ON platform_id = platform.id
             WHERE application_id = $1 LIMIT $2)
        """
}
