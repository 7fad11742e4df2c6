import BelfryCore
import PostgreSQL

/// Which posting list: a topic's on a platform.
struct PostingListKey: Hashable, Comparable {
    let topic: Int64
    let platform: Key<Platform>

    static func < (left: Self, right: Self) -> Bool { (left.topic, left.platform) < (right.topic, right.platform) }
}

/// A row of `subscription_stretch`: devices that a sweep brought into a list together, those of them that are left.
struct PostingStretch {
    let id: ID
    /// Ascending.
    var devices: [Key<Device>]

    struct ID: Hashable {
        let list: PostingListKey
        /// With which it began, and which may have left it.
        let first: Key<Device>
    }

    /// A sweep cuts here, so that a row stays on its page.
    static let countMax = 512

    init(list: PostingListKey, devices: [Key<Device>]) {
        precondition(!devices.isEmpty, "a stretch begins with a device")
        id = ID(list: list, first: devices[0])
        self.devices = devices
    }

    fileprivate init(_ id: ID, _ row: Row) throws {
        self.id = id
        devices = try row.postings(3)
    }
}

extension Row {
    /// The devices of a stretch.
    func postings(_ column: Int32) throws -> [Key<Device>] {
        guard let devices = withBlob(column, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("a posting list")
        }
        return devices
    }
}

extension PostgresWriteSession {
    /// Takes devices out of the stretches of their lists, where they are in one. In the order of the lists, so that of two who
    /// want the same stretches neither waits for the other.
    func removeFromStretches(_ lost: [Posting]) throws {
        var stretches: [PostingStretch.ID: PostingStretch] = [:]
        try prepared(PostgresStretchStatements.holding).each(
            PostgresArray(lost.map(\.list.topic)), PostgresArray(lost.map(\.list.platform)),
            PostgresArray(lost.map(\.device))
        ) { row in
            let id = PostingStretch.ID(
                list: PostingListKey(topic: row.integer(0), platform: Key(row.integer(1))), first: Key(row.integer(2)))
            var stretch = try stretches[id] ?? PostingStretch(id, row)
            stretch.devices.removeAll { $0.rawValue == row.integer(4) }
            stretches[id] = stretch
        }
        let left = stretches.values.filter { !$0.devices.isEmpty }
        if !left.isEmpty { try write(left, by: PostgresStretchStatements.replace) }
        for id in stretches.values.lazy.filter(\.devices.isEmpty).map(\.id) {
            try prepared(PostgresStretchStatements.delete).send(id.list.topic, id.list.platform, id.first)
        }
    }

    func write(_ stretches: [PostingStretch], by sql: String) throws {
        try prepared(sql).send(
            PostgresArray(stretches.map(\.id.list.topic)), PostgresArray(stretches.map(\.id.list.platform)),
            PostgresArray(stretches.map(\.id.first)), PostgresArray(stretches.map(\.devices.count)),
            PostgresArray(stretches.map { DeviceList.encode($0.devices) }))
    }
}

enum PostgresStretchStatements {
    static let insert = """
        INSERT INTO subscription_stretch /* stretches.insert */ (
            topic_id, platform_id, first_device_id, device_count, devices)
        SELECT topic_id, platform_id, first_device_id, device_count, devices
          FROM unnest($1, $2, $3, $4, $5) AS new (topic_id, platform_id, first_device_id, device_count, devices)
        """

    /// For each device the last stretch of its list that begins with it or before it, held until the transaction ends. Walks
    /// the primary key backwards.
    static let holding = """
        SELECT found.topic_id, found.platform_id, found.first_device_id, found.devices, lost.device_id
               /* stretches.holding */
          FROM unnest($1, $2, $3) AS lost (topic_id, platform_id, device_id)
         CROSS JOIN LATERAL (
            SELECT topic_id, platform_id, first_device_id, devices FROM subscription_stretch
             WHERE topic_id = lost.topic_id AND platform_id = lost.platform_id AND first_device_id <= lost.device_id
             ORDER BY first_device_id DESC
             LIMIT 1
               FOR UPDATE) AS found
        """

    /// Looks each up in the primary key.
    static let replace = """
        UPDATE subscription_stretch /* stretches.replace */ AS stretch
           SET device_count = changed.device_count, devices = changed.devices
          FROM unnest($1, $2, $3, $4, $5) AS changed (topic_id, platform_id, first_device_id, device_count, devices)
         WHERE stretch.topic_id = changed.topic_id AND stretch.platform_id = changed.platform_id
           AND stretch.first_device_id = changed.first_device_id
        """

    static let delete = """
        DELETE FROM subscription_stretch /* stretches.delete */
         WHERE topic_id = $1 AND platform_id = $2 AND first_device_id = $3
        """
}
