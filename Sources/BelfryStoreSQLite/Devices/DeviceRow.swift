import BelfryCore

/// A device as its row holds it.
struct DeviceRow {
    let key: Key<Device>
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
    /// From the columns of `DeviceStatements.byKey` and `byToken`.
    init(_ row: Columns) throws {
        guard let reach = Reach(rawValue: row.integer(1)) else {
            throw StoreError.damaged("device \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), reach: reach, registeredAt: Instant(milliseconds: row.integer(2)),
            token: row.blobIfAny(3).map(DeviceToken.init(bytes:)),
            topics: try row.withBlob(4) { try TopicList.decode($0) }, customUserID: row.textIfAny(5),
            about: Device.About(
                os: row.textIfAny(6), osVersion: row.textIfAny(7), model: row.textIfAny(8),
                manufacturer: row.textIfAny(9), alias: row.textIfAny(10)))
    }

    func device(on platform: Key<Platform>, naming: DeviceNaming, topicNames: [String]) -> Device {
        Device(
            key: key, uuid: naming.uuid(of: key), platformKey: platform, token: token, isActive: reach != .inactive,
            about: about, customUserID: customUserID, topics: topicNames, registeredAt: registeredAt)
    }
}

enum DeviceStatements {
    static let byKey = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias /* devices.by_key */
          FROM device
         WHERE id = ?1 AND platform_id = ?2
        """

    /// Without those that `FreshTokens` holds.
    static let byToken = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias /* devices.by_token */
          FROM device_token JOIN device ON id = device_id
         WHERE device_token.token_hash = ?2 AND platform_id = ?1 AND token = ?3
        """

    static let insert = """
        INSERT INTO device /* devices.insert */ (
            platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
            os, os_version, model, manufacturer, alias)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        """

    /// What an app that merely says hello again changes: no index.
    static let touch = """
        UPDATE device /* devices.touch */ SET registered_at_ms = ?1 WHERE id = ?2
        """

    static let update = """
        UPDATE device /* devices.update */
           SET reach = ?1, registered_at_ms = ?2, token_hash = ?3, token = ?4, topics = ?5, custom_user_id = ?6,
               os = ?7, os_version = ?8, model = ?9, manufacturer = ?10, alias = ?11
         WHERE id = ?12
        """

    static let move = """
        UPDATE device /* devices.move */ SET registered_at_ms = ?1, token_hash = ?2, token = ?3 WHERE id = ?4
        """

    static let evict = """
        UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ?1
        """

    static let deactivate = """
        UPDATE device /* devices.deactivate */ SET reach = 0 WHERE id = ?1
        """

    static let platform = """
        SELECT platform_id /* devices.platform */ FROM device WHERE id = ?1
        """

}
