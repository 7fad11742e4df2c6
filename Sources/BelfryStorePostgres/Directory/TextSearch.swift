import BelfryCore
import FoundationEssentials
import PostgreSQL

/// Finds the devices whose texts contain a text, ascending, from one snapshot.
///
/// A UUID or a token that is given whole is looked up. Anything else is looked for in all devices, one by one, for as long as
/// the deadline allows: a UUID is computed (decision 2), so no index of the database knows its parts.
struct TextSearch {
    let db: Connection
    let text: String
    let secrets: Secrets
    let platforms: [Key<Platform>: PlatformKind]
    /// The id of a topic that an active device has to have, on top.
    let topic: Int64?
    let deadline: ContinuousClock.Instant

    private static let rowsAtOnce = 4_096

    /// Calls `body` with each device found behind `after`, until it returns false.
    func each(after: Key<Device>?, _ body: (Key<Device>) throws -> Bool) throws {
        var after = after?.rawValue ?? 0
        if let uuid = UUID(uuidString: text), let device = secrets.naming.device(of: uuid), try isThere(device) {
            if device.rawValue > after { _ = try body(device) }
            return
        }
        let bytes = Array(text.utf8)
        while true {
            var count = 0
            var found: [Int64] = []
            try db.prepared(TextSearchStatements.stretch).each(after, Self.rowsAtOnce) { row in
                count += 1
                after = row.integer(0)
                if try holds(row, bytes) { found.append(after) }
            }
            for device in found {
                if try !body(Key(device)) { return }
            }
            if count < Self.rowsAtOnce { return }
            guard ContinuousClock.now < deadline else {
                throw InvalidInput(
                    field: "q", "fits so many devices that looking at them takes too long; give more of it")
            }
        }
    }

    private func isThere(_ device: Key<Device>) throws -> Bool {
        try db.prepared(TextSearchStatements.byKey).first(device) { try holds($0, []) } ?? false
    }

    private func holds(_ row: Row, _ bytes: [UInt8]) throws -> Bool {
        guard let kind = platforms[Key(row.integer(1))] else { return false }
        if let topic {
            guard row.integer(5) > 0, try row.withBlob(6, { try TopicList.decode($0) }).contains(topic) else {
                return false
            }
        }
        return bytes.isEmpty || DeviceText(row, kind: kind, naming: secrets.naming).contains(bytes)
    }
}

extension DeviceText {
    /// From the columns id, platform, token, custom user id and alias.
    fileprivate init(_ row: Row, kind: PlatformKind, naming: DeviceNaming) {
        self.init(
            uuid: naming.uuid(of: Key(row.integer(0))), token: row.blobIfAny(2).map(DeviceToken.init(bytes:)),
            kind: kind,
            customUserID: row.textIfAny(3), alias: row.textIfAny(4))
    }
}

enum TextSearchStatements {
    static let byKey = """
        SELECT id, platform_id, token, custom_user_id, alias, reach, topics /* search.by_key */
          FROM device
         WHERE id = $1
        """

    /// Walks the primary key.
    static let stretch = """
        SELECT id, platform_id, token, custom_user_id, alias, reach, topics /* search.stretch */
          FROM device
         WHERE id > $1
         ORDER BY id
         LIMIT $2
        """
}
