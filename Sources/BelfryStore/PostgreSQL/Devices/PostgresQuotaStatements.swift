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
