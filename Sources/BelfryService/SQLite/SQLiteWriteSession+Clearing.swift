extension SQLiteWriteSession {
    /// Devices of deleted platforms are not counted; see `QuotaStatements.devices`.
    static let countsDeleted = false

    static let clearedWithPlatform = [
        SQLText.deleteSome(
            "platform_deletion.device_counts", from: "search_index_count", key: "platform_id, last_device_id",
            where: "platform_id = $1")
    ]
    static let clearedWithApplication = [
        OwnedTable("search_index_count", key: "platform_id", "last_device_id", of: "platform", by: "platform_id")
    ]
    static let clearedWithTopic: [SQLText] = []
}
