import FoundationEssentials

/// A row of the `device` table.
struct DeviceRow {
    /// 0 until it is assigned.
    var key: Key<Device>
    let platform: Key<Platform>
    var reach: DeviceState
    var registeredAt: Instant
    var token: DeviceToken?
    /// Topic ids, ascending.
    var topics: [Int64]
    var customUserID: String?
    var about: Device.About
    var importMark: ImportMark?

    /// The topics whose posting lists hold the device.
    var postings: [Int64] { reach == .inactive ? [] : topics }
}

extension DeviceRow {
    /// The columns in the order in which `init` reads them.
    static let columns = """
        id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id,
               imported_uuid, imported_at_ms, import_stage
        """

    /// From the columns of `DeviceStatements.byKey` and its like.
    init(_ row: some SQLRow) throws {
        guard let reach = DeviceState(rawValue: row.integer(1)) else {
            throw StoreError.damaged("device \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), platform: Key(row.integer(11)), reach: reach,
            registeredAt: Instant(milliseconds: row.integer(2)),
            token: row.blobIfAny(3).map(DeviceToken.init(bytes:)),
            topics: try row.withBlob(4) { try TopicList.decode($0) }, customUserID: row.textIfAny(5),
            about: Device.About(
                os: row.textIfAny(6), osVersion: row.textIfAny(7), model: row.textIfAny(8),
                manufacturer: row.textIfAny(9), alias: row.textIfAny(10)),
            importMark: try ImportMark(row, from: 12))
    }

    func device(naming: DeviceNaming, topicNames: [String]) -> Device {
        let own = naming.uuid(of: key)
        return Device(
            key: key, uuid: importMark?.name(own: own) ?? own, platformKey: platform, token: token,
            isActive: reach != .inactive,
            about: about, customUserID: customUserID, topics: topicNames, registeredAt: registeredAt,
            importMark: importMark, ownUUID: own)
    }

    /// Whether only the time differs.
    func isSame(as other: DeviceRow) -> Bool {
        reach == other.reach && token == other.token && topics == other.topics && customUserID == other.customUserID
            && about == other.about && importMark == other.importMark
    }

    /// Whether both are found by the same texts.
    func hasTexts(of other: DeviceRow) -> Bool {
        token == other.token && customUserID == other.customUserID && about.alias == other.about.alias
            && importMark?.uuid == other.importMark?.uuid
    }

    var party: TokenMove.Holder {
        TokenMove.Holder(key: key, token: token, isActive: reach != .inactive, registeredAt: registeredAt)
    }

    /// Notes where the device came from, or that its app has registered.
    mutating func noteRegistration(_ imported: DeviceImport?, by name: DeviceName?, at now: Instant) {
        guard let imported else {
            importMark?.noteRegistration(isByOwnUUID: name == .own(key))
            return
        }
        if !imported.isActive { reach = .inactive }
        let given: UUID? = if case .imported(let uuid) = name { uuid } else { nil }
        importMark = ImportMark(uuid: importMark?.uuid ?? given, importedAt: importMark?.importedAt ?? now)
    }

    var importParty: ImportRules.Party { ImportRules.Party(key: key, mark: importMark) }
}

extension ImportMark {
    /// From three columns; nil where the device was not imported.
    init?(_ row: some SQLRow, from first: Int32) throws {
        guard let importedAt = row.instantIfAny(first + 1) else { return nil }
        guard let stage = State(rawValue: row.integer(first + 2)) else {
            throw StoreError.damaged("device \(row.integer(0))")
        }
        self.init(uuid: row.uuid(first), importedAt: importedAt, stage: stage)
    }
}

enum DeviceStatements {
    static let holdActive: SQLText = """
        SELECT 1 /* devices.hold_active */ FROM device
         WHERE id = $1 AND platform_id = $2 AND reach > 0 \(SQLText.forNoKeyUpdate)
        """

    static let byKey: SQLText = """
        SELECT \(DeviceRow.columns) /* devices.by_key */
          FROM device
         WHERE id = $1 AND platform_id = $2
        """

    static let move: SQLText = """
        UPDATE device /* devices.move */ SET registered_at_ms = $1, token_hash = $2, token = $3 WHERE id = $4
        """

    static let platform: SQLText = "SELECT platform_id /* devices.platform */ FROM device WHERE id = $1"

    static let update: SQLText = """
        UPDATE device /* devices.update */
           SET reach = $1, registered_at_ms = $2, token_hash = $3, token = $4, topics = $5, custom_user_id = $6,
               os = $7, os_version = $8, model = $9, manufacturer = $10, alias = $11
         WHERE id = $12
        """

    static let namesOutside: SQLText = """
        SELECT id, imported_uuid /* devices.names_outside */ FROM device
         WHERE id \(among: "$1") AND imported_uuid IS NOT NULL AND import_stage <> $2
        """

    /// Adding zero to a column keeps it out of every index, so that devices named by their keys are looked up by the
    /// primary key.
    /// Looks each up in `device_imported`.
    static let byImportedUUID: SQLText = """
        SELECT id, platform_id /* devices.by_imported_uuid */ FROM device
         WHERE imported_uuid = $1 AND imported_uuid IS NOT NULL AND platform_id \(among: "$2")
        """

    /// Marks imported devices. Other devices never write these columns, so the columns cost them nothing.
    static let mark: SQLText = """
        UPDATE device /* devices.mark */ SET imported_uuid = $1, imported_at_ms = $2, import_stage = $3 WHERE id = $4
        """

    /// Scans `device_unseen`.
    static let unseen: SQLText = """
        SELECT id /* devices.unseen */ FROM device
         WHERE platform_id = $1 AND import_stage = 0 AND id > $2
         ORDER BY id LIMIT $3
        """

    /// Scans `device_reach`, as far as the limit.
    static let inactiveCount: SQLText = """
        SELECT count(*) /* devices.inactive_count */
          FROM (SELECT id FROM device WHERE platform_id = $1 AND reach = 0 LIMIT $2) AS inactive
        """

    /// Scans `device_unseen`, as far as the limit.
    static let unseenCount: SQLText = """
        SELECT count(*) /* devices.unseen_count */
          FROM (SELECT id FROM device WHERE platform_id = $1 AND import_stage = 0 LIMIT $2) AS unseen
        """

    /// Reads a column that `device_reach` has not, and in order, so that PostgreSQL looks each up in the primary key.
    static let platforms: SQLText = """
        SELECT id, platform_id, registered_at_ms /* devices.platforms */ FROM device WHERE id \(among: "$1") ORDER BY id
        """
}
