import GRDB

extension SQLiteWriteSession {
    /// Throws when the custom user id has reached its limit of active devices on the platform.
    func checkDevices(ofUser id: String, on platform: Key<Platform>) throws {
        guard let limit = quotaCounts.quotas[.userDevices] else { return }
        let count = try prepared(SQLiteQuotaStatements.userDevices).count(platform, id, limit)
        try quotaCounts.quotas.check(.userDevices, use: count)
    }
}

extension Database {
    func deviceCounts(
        ofUsers ids: [String], on platform: Key<Platform>, atMost limit: Int
    ) throws -> [String: Int] {
        let statement = try prepared(SQLiteQuotaStatements.userDevices)
        return try Dictionary(uniqueKeysWithValues: ids.map { ($0, try statement.count(platform, $0, limit)) })
    }
}

enum SQLiteQuotaStatements {
    /// SQLite would scan all active devices, because it estimates them to be as few.
    static let userDevices = """
        SELECT count(*) /* quotas.user_devices */
          FROM (SELECT 1 FROM device INDEXED BY device_custom_user
                 WHERE platform_id = ?1 AND custom_user_id = ?2 AND reach > 0
                 LIMIT ?3)
        """
}
