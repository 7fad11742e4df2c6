import PostgreSQL

extension Connection {
    func deviceCounts(
        ofUsers ids: [String], on platform: Key<Platform>, atMost limit: Int
    ) throws -> [String: Int] {
        guard !ids.isEmpty else { return [:] }
        var counts: [String: Int] = [:]
        try prepared(PostgresQuotaStatements.userDevices).each(
            PostgresArray(ids.map { _ in platform }), PostgresArray(ids), limit
        ) { counts[$0.text(1)] = Int($0.integer(2)) }
        return counts
    }
}

enum PostgresQuotaStatements {
    /// The number of active devices of custom user ids on platforms, up to a limit. Scans `device_custom_user` for
    /// each.
    static let userDevices = """
        SELECT platform_id, custom_user_id, count /* quotas.user_devices */
          FROM unnest($1, $2) AS wanted (platform_id, custom_user_id)
         CROSS JOIN LATERAL (
            SELECT count(*) AS count
              FROM (SELECT 1 FROM device
                     WHERE device.platform_id = wanted.platform_id AND device.custom_user_id = wanted.custom_user_id
                       AND reach > 0
                     LIMIT $3) AS own) AS found
        """
}
