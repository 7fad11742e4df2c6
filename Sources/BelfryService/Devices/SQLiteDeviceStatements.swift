enum SQLiteDeviceStatements {
    /// Finds devices by their token's hash, without those in `UnindexedTokens`.
    static let byToken = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id,
               imported_uuid, imported_at_ms, import_stage /* devices.by_token */
          FROM device_token JOIN device ON id = device_id
         WHERE device_token.token_hash = ?2 AND platform_id = ?1
        """

    static let insert = """
        INSERT INTO device /* devices.insert */ (
            platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
            os, os_version, model, manufacturer, alias)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        """

    /// A registration that changes nothing: updates no index.
    static let touch = "UPDATE device /* devices.touch */ SET registered_at_ms = ?1 WHERE id = ?2"

    static let evict = "UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ?1"

    static let deactivate = "UPDATE device /* devices.deactivate */ SET reach = 0 WHERE id = ?1"
}
