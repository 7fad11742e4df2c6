import BelfryCore

/// A row of the `device` table.
struct DeviceRow {
    /// 0 until it is assigned.
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
    init(_ row: some SQLRow) throws {
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

    /// A device that registers for the first time, with what is known of it before `apply`.
    init(new registration: Registration, on platform: Key<Platform>) {
        self.init(
            key: Key(0), platform: platform, reach: .inactive, registeredAt: .zero, token: nil, topics: [],
            customUserID: nil, about: registration.about)
    }

    /// Applies a registration, except its topics.
    mutating func apply(_ registration: Registration, kind: PlatformKind, at now: Instant) {
        token = registration.token
        registeredAt = now
        about = registration.about.filled(from: about)
        reach = Reach(kind: kind, osVersion: about.osVersion)
        switch registration.customUserID {
        case .keep: break
        case .clear: customUserID = nil
        case .set(let id): customUserID = id
        }
    }

    func device(naming: DeviceNaming, topicNames: [String]) -> Device {
        Device(
            key: key, uuid: naming.uuid(of: key), platformKey: platform, token: token, isActive: reach != .inactive,
            about: about, customUserID: customUserID, topics: topicNames, registeredAt: registeredAt)
    }

    /// Whether only the time differs.
    func isSame(as other: DeviceRow) -> Bool {
        reach == other.reach && token == other.token && topics == other.topics && customUserID == other.customUserID
            && about == other.about
    }

    /// Whether both are found by the same texts.
    func hasTexts(of other: DeviceRow) -> Bool {
        token == other.token && customUserID == other.customUserID && about.alias == other.about.alias
    }

    var party: TokenMove.Holder {
        TokenMove.Holder(key: key, token: token, isActive: reach != .inactive, registeredAt: registeredAt)
    }
}

extension Registration {
    /// The names of the topics of a device that has the old ones.
    func topicNames(over old: Set<String>) throws(InvalidInput) -> Set<String> {
        let names = topics.applied(to: old)
        guard names.count <= Self.topicsMax else {
            throw InvalidInput(
                field: "tags", "has \(names.count) topics with those before, the limit is \(Self.topicsMax)")
        }
        return names
    }
}

extension WriteSession {
    /// Writes all columns of a device that has a key and a token.
    func update(_ row: DeviceRow, tokenHash: (some SQLValue)?) throws {
        let about = row.about
        try prepared(DeviceStatements.update).send(
            row.reach.rawValue, row.registeredAt, tokenHash, row.token?.bytes, TopicList.encode(row.topics),
            row.customUserID, about.os, about.osVersion, about.model, about.manufacturer, about.alias, row.key)
    }
}

enum DeviceStatements {
    static let byKey: SQLText = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id /* devices.by_key */
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

    /// Adding zero to a column keeps it out of every index, so that devices named by their keys are looked up by the
    /// primary key.
    static let onPlatforms: SQLText = """
        SELECT id /* devices.on_platforms */ FROM device WHERE id \(among: "$1") AND platform_id + 0 \(among: "$2")
        """
}
