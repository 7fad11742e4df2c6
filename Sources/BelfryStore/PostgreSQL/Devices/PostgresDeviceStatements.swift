/// A column with a zero added to it is in no index: what names rows by their keys looks them up by those, whatever the planner
/// believes of a table that was empty when it was last counted.
enum PostgresDeviceStatements {
    /// Looks each up in `device_token`. Two platforms may know one token, so there may be more than is asked for.
    static let byToken = """
        SELECT id /* devices.by_token */ FROM device
         WHERE token_hash = ANY ($2) AND token_hash IS NOT NULL AND platform_id + 0 = ANY ($1)
        """

    /// Held until the transaction ends. In the order of their ids, so that of two who want the same ones neither waits for
    /// the other.
    static let hold = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id /* devices.hold */
          FROM device
         WHERE id = ANY ($1)
         ORDER BY id
           FOR UPDATE
        """

    /// Returns those that were inserted: of a token that was registered elsewhere meanwhile, none is.
    static let insert = """
        INSERT INTO device /* devices.insert */ (
            platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
            os, os_version, model, manufacturer, alias)
        SELECT platform_id, reach, $12, token_hash, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias
          FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS new (
                   platform_id, reach, token_hash, token, topics, custom_user_id,
                   os, os_version, model, manufacturer, alias)
            ON CONFLICT (platform_id, token_hash) WHERE token_hash IS NOT NULL DO NOTHING
        RETURNING id, platform_id, token_hash
        """

    /// What an app that merely says hello again changes: no index.
    static let touch = "UPDATE device /* devices.touch */ SET registered_at_ms = $1 WHERE id = ANY ($2)"

    /// Frees tokens, so that others can have them.
    static let evict = """
        UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ANY ($1)
        """

    /// Deactivates one that is held.
    static let cede = "UPDATE device /* devices.cede */ SET reach = 0 WHERE id = $1"

    /// Deactivates those that registered before the time of their verdict. Looks each up in the primary key.
    static let delete = """
        UPDATE device /* devices.delete */ SET reach = 0
          FROM unnest($2, $3) AS dead (id, since_ms)
         WHERE device.id = ANY ($2) AND device.id = dead.id AND platform_id + 0 = $1 AND reach + 0 > 0
           AND registered_at_ms < since_ms
        RETURNING device.id, topics
        """

    /// Scans `device_reach`, which covers it.
    static let count = "SELECT count(*) /* devices.count */ FROM device WHERE platform_id = $1"
}
