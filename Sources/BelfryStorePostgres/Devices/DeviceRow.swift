import BelfryCore
import PostgreSQL

/// A device as its row holds it.
struct DeviceRow {
    /// 0 until it has one.
    var key: Key<Device>
    let platform: Key<Platform>
    var reach: Reach
    var registeredAt: Instant
    var token: DeviceToken?
    /// Topic ids, ascending.
    var topics: [Int64]
    var customUserID: String?
    var about: Device.About

    /// The topics whose posting lists hold the device.
    var postings: [Int64] { reach == .inactive ? [] : topics }
}

extension DeviceRow {
    /// From the columns of `DeviceStatements.byKey` and its like.
    init(_ row: Row) throws {
        guard let reach = Reach(rawValue: row.integer(1)) else {
            throw StoreError.damaged("device \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), platform: Key(row.integer(11)), reach: reach,
            registeredAt: Instant(milliseconds: row.integer(2)),
            token: row.blobIfAny(3).map(DeviceToken.init(bytes:)),
            topics: try row.withBlob(4) { try TopicList.decode($0) }, customUserID: row.textIfAny(5),
            about: Device.About(
                os: row.textIfAny(6), osVersion: row.textIfAny(7), model: row.textIfAny(8),
                manufacturer: row.textIfAny(9), alias: row.textIfAny(10)))
    }

    func device(naming: DeviceNaming, topicNames: [String]) -> Device {
        Device(
            key: key, uuid: naming.uuid(of: key), platformKey: platform, token: token, isActive: reach != .inactive,
            about: about, customUserID: customUserID, topics: topicNames, registeredAt: registeredAt)
    }

    /// Whether nothing but the time differs.
    func isSame(as other: DeviceRow) -> Bool {
        reach == other.reach && token == other.token && topics == other.topics && customUserID == other.customUserID
            && about == other.about
    }
}

extension DeviceRow {
    /// Whether it is found by the same texts.
    func hasTexts(of other: DeviceRow) -> Bool {
        token == other.token && customUserID == other.customUserID && about.alias == other.about.alias
    }
}

/// A column with a zero added to it is in no index: what names rows by their keys looks them up by those, whatever the planner
/// believes of a table that was empty when it was last counted.
enum DeviceStatements {
    static let byKey = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id /* devices.by_key */
          FROM device
         WHERE id = $1 AND platform_id = $2
        """

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
    static let touch = """
        UPDATE device /* devices.touch */ SET registered_at_ms = $1 WHERE id = ANY ($2)
        """

    static let update = """
        UPDATE device /* devices.update */
           SET reach = $1, registered_at_ms = $2, token_hash = $3, token = $4, topics = $5, custom_user_id = $6,
               os = $7, os_version = $8, model = $9, manufacturer = $10, alias = $11
         WHERE id = $12
        """

    /// Frees tokens, so that others can have them.
    static let evict = """
        UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ANY ($1)
        """

    /// Deactivates one that is held.
    static let cede = """
        UPDATE device /* devices.cede */ SET reach = 0 WHERE id = $1
        """

    /// Gives one that is held another token.
    static let move = """
        UPDATE device /* devices.move */ SET registered_at_ms = $1, token_hash = $2, token = $3 WHERE id = $4
        """

    /// Deactivates those that registered before the time of their verdict. Looks each up in the primary key.
    static let bury = """
        UPDATE device /* devices.bury */ SET reach = 0
          FROM unnest($2, $3) AS dead (id, since_ms)
         WHERE device.id = ANY ($2) AND device.id = dead.id AND platform_id + 0 = $1 AND reach + 0 > 0
           AND registered_at_ms < since_ms
        RETURNING device.id, topics
        """

    static let platform = """
        SELECT platform_id /* devices.platform */ FROM device WHERE id = $1
        """

    static let onPlatforms = """
        SELECT id /* devices.on_platforms */ FROM device WHERE id = ANY ($1) AND platform_id + 0 = ANY ($2)
        """

    /// Walks `device_reach`, which covers it.
    static let count = """
        SELECT count(*) /* devices.count */ FROM device WHERE platform_id = $1
        """
}
