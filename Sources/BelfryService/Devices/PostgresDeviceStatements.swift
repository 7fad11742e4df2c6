/// Statements of PostgreSQL on devices.
///
/// Adding zero to a column keeps it out of every index: statements that name rows by their keys look them up by the
/// primary key, whatever the planner believes of a table that was empty when it was last analyzed.
enum PostgresDeviceStatements {
    /// Looks each up in `device_token`. Two platforms may know one token, so it may find more rows than requested.
    static let byToken = """
        SELECT id /* devices.by_token */ FROM device
         WHERE token_hash = ANY ($2) AND token_hash IS NOT NULL AND platform_id + 0 = ANY ($1)
        """

    /// Looks each up in `device_imported`.
    static let byImportedUUIDs = """
        SELECT id, platform_id, imported_uuid /* devices.by_imported_uuids */ FROM device
         WHERE imported_uuid = ANY ($1) AND imported_uuid IS NOT NULL AND platform_id = ANY ($2)
        """

    /// Locks the rows until the transaction ends. Fixed lock order; avoids deadlocks.
    static let hold = """
        SELECT \(DeviceRow.columns) /* devices.hold */
          FROM device
         WHERE id = ANY ($1)
         ORDER BY id
           FOR UPDATE
        """

    /// Returns the inserted devices; a token that was registered elsewhere meanwhile is skipped.
    static let insert = """
        INSERT INTO device /* devices.insert */ (
            platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
            os, os_version, model, manufacturer, alias, imported_uuid, imported_at_ms, import_stage, created_at_ms)
        SELECT platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, imported_uuid, imported_at_ms, import_stage,
               CASE WHEN imported_at_ms IS NULL THEN registered_at_ms END
          FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS new (
                   platform_id, reach, token_hash, token, topics, custom_user_id,
                   os, os_version, model, manufacturer, alias, registered_at_ms, imported_uuid, imported_at_ms,
                   import_stage)
            ON CONFLICT (platform_id, token_hash) WHERE token_hash IS NOT NULL DO NOTHING
        RETURNING id, platform_id, token_hash
        """

    /// A registration that changes nothing: updates no index.
    static let touch = "UPDATE device /* devices.touch */ SET registered_at_ms = $1 WHERE id = ANY ($2)"

    /// Frees tokens for other devices.
    static let evict = """
        UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ANY ($1)
        """

    /// Deactivates a device whose row is locked.
    static let cede = "UPDATE device /* devices.cede */ SET reach = 0 WHERE id = $1"

    /// Deactivates devices that registered before the time of their verdict and have its token. Looks each up in the primary key.
    static let deactivateDeadTokens = """
        UPDATE device /* devices.deactivate_dead_tokens */ SET reach = 0
          FROM unnest($2, $3, $4) AS dead (id, token, since_ms)
         WHERE device.id = ANY ($2) AND device.id = dead.id AND platform_id + 0 = $1 AND reach + 0 > 0
           AND registered_at_ms < since_ms AND (dead.token IS NULL OR dead.token = device.token)
        RETURNING device.id, topics
        """

    /// Scans `device_reach`, which covers it.
    static let count = "SELECT count(*) /* devices.count */ FROM device WHERE platform_id = $1"
}
