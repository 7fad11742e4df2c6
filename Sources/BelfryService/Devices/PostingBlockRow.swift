import PostgreSQL

/// A row of `subscription_block`: the remaining devices of those that a merge added to a list together.
struct PostingBlockRow {
    let id: ID
    /// Ascending.
    var devices: [Key<Device>]

    struct ID: Hashable {
        let list: SubscriptionList
        /// The first device when it was written, which may have left it.
        let first: Key<Device>
    }

    /// A merge splits here, so that a row stays on its page.
    static let countMax = 512

    init(list: SubscriptionList, devices: [Key<Device>]) {
        precondition(!devices.isEmpty, "a block begins with a device")
        id = ID(list: list, first: devices[0])
        self.devices = devices
    }

    fileprivate init(_ id: ID, _ row: Row) throws {
        self.id = id
        devices = try row.postings(3)
    }
}

extension Row {
    /// The devices of a block.
    func postings(_ column: Int32) throws -> [Key<Device>] {
        guard let devices = withBlob(column, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("a posting list")
        }
        return devices
    }
}

extension PostgresWriteSession {
    /// Removes devices from the blocks of their lists, where they are in one. Fixed lock order; avoids deadlocks.
    func removeFromBlocks(_ lost: [Posting]) throws {
        var blocks: [PostingBlockRow.ID: PostingBlockRow] = [:]
        try prepared(PostgresPostingBlockStatements.holding).each(
            PostgresArray(lost.map(\.list.topic)), PostgresArray(lost.map(\.list.platform)),
            PostgresArray(lost.map(\.device))
        ) { row in
            let id = PostingBlockRow.ID(
                list: SubscriptionList(topic: row.integer(0), platform: Key(row.integer(1))), first: Key(row.integer(2))
            )
            var block = try blocks[id] ?? PostingBlockRow(id, row)
            block.devices.removeAll { $0.rawValue == row.integer(4) }
            blocks[id] = block
        }
        let left = blocks.values.filter { !$0.devices.isEmpty }
        if !left.isEmpty { try write(left, by: PostgresPostingBlockStatements.replace) }
        for id in blocks.values.lazy.filter(\.devices.isEmpty).map(\.id) {
            try prepared(PostgresPostingBlockStatements.delete).send(id.list.topic, id.list.platform, id.first)
        }
    }

    func write(_ blocks: [PostingBlockRow], by sql: String) throws {
        try prepared(sql).send(
            PostgresArray(blocks.map(\.id.list.topic)), PostgresArray(blocks.map(\.id.list.platform)),
            PostgresArray(blocks.map(\.id.first)), PostgresArray(blocks.map(\.devices.count)),
            PostgresArray(blocks.map { DeviceList.encode($0.devices) }))
    }
}

enum PostgresPostingBlockStatements {
    static let insert = """
        INSERT INTO subscription_block /* blocks.insert */ (
            topic_id, platform_id, first_device_id, device_count, devices)
        SELECT topic_id, platform_id, first_device_id, device_count, devices
          FROM unnest($1, $2, $3, $4, $5) AS new (topic_id, platform_id, first_device_id, device_count, devices)
        """

    /// For each device the last block of its list that begins with it or before it, locked until the transaction ends.
    /// Scans the primary key backwards.
    static let holding = """
        SELECT found.topic_id, found.platform_id, found.first_device_id, found.devices, lost.device_id
               /* blocks.holding */
          FROM unnest($1, $2, $3) AS lost (topic_id, platform_id, device_id)
         CROSS JOIN LATERAL (
            SELECT topic_id, platform_id, first_device_id, devices FROM subscription_block
             WHERE topic_id = lost.topic_id AND platform_id = lost.platform_id AND first_device_id <= lost.device_id
             ORDER BY first_device_id DESC
             LIMIT 1
               FOR UPDATE) AS found
        """

    /// Looks each up in the primary key.
    static let replace = """
        UPDATE subscription_block /* blocks.replace */ AS block
           SET device_count = changed.device_count, devices = changed.devices
          FROM unnest($1, $2, $3, $4, $5) AS changed (topic_id, platform_id, first_device_id, device_count, devices)
         WHERE block.topic_id = changed.topic_id AND block.platform_id = changed.platform_id
           AND block.first_device_id = changed.first_device_id
        """

    static let delete = """
        DELETE FROM subscription_block /* blocks.delete */
         WHERE topic_id = $1 AND platform_id = $2 AND first_device_id = $3
        """
}

/// The changes that a transaction makes to posting lists: written at once, in the order of the lists.
struct PostingChanges {
    private var gained: [Posting] = []
    private var lost: [Posting] = []

    /// Moves a device, whose row is locked, from some lists to others. Both are topic ids.
    mutating func move(_ device: Key<Device>, on platform: Key<Platform>, from old: [Int64], to new: [Int64]) {
        guard old != new else { return }
        let (before, after) = (Set(old), Set(new))
        func postings(_ topics: Set<Int64>) -> [Posting] {
            topics.map { Posting(list: SubscriptionList(topic: $0, platform: platform), device: device) }
        }
        lost += postings(before.subtracting(after))
        gained += postings(after.subtracting(before))
    }

    /// Leaves out devices that are not merged yet: a merge will read their rows as they are by then.
    func write(in session: PostgresWriteSession) throws {
        guard !gained.isEmpty || !lost.isEmpty else { return }
        let mark = try session.heldPostingMark()
        let (lost, wanted) = (lost.merged(until: mark), gained.merged(until: mark))
        let living = try session.holdTopics(Set(wanted.map(\.list.topic)))
        let gained = wanted.filter { living.contains($0.list.topic) }
        for (sql, postings) in [(PostgresPostingStatements.remove, lost), (PostgresPostingStatements.add, gained)]
        where !postings.isEmpty {
            try session.prepared(sql).send(
                PostgresArray(postings.map(\.list.topic)), PostgresArray(postings.map(\.list.platform)),
                PostgresArray(postings.map(\.device)))
        }
        if !lost.isEmpty { try session.removeFromBlocks(lost) }
    }
}

/// The entry of a device in a list.
struct Posting: Comparable {
    let list: SubscriptionList
    let device: Key<Device>

    static func < (left: Self, right: Self) -> Bool { (left.list, left.device) < (right.list, right.device) }
}

extension [Posting] {
    fileprivate func merged(until mark: Int64) -> [Posting] { filter { $0.device.rawValue <= mark }.sorted() }
}

extension Connection {
    func merged(_ list: SubscriptionList, after: Int64, limit: Int) throws -> [Int64] {
        let parts = [
            try fromBlocks(list, after: after, limit: limit),
            try prepared(PostgresPostingStatements.topic).all(list.topic, list.platform, after, limit) {
                $0.integer(0)
            },
        ].filter { !$0.isEmpty }
        let devices = parts.count < 2 ? parts.first ?? [] : Set(parts.joined()).sorted()
        return Array(devices.prefix(limit))
    }

    func add(_ devices: [Int64], to list: SubscriptionList) throws {
        try prepared(PostgresPostingStatements.add).run(
            PostgresArray(devices.map { _ in list.topic }), PostgresArray(devices.map { _ in list.platform }),
            PostgresArray(devices))
    }

    private func fromBlocks(_ list: SubscriptionList, after: Int64, limit: Int) throws -> [Int64] {
        // The first may be the one that was read last.
        let blocksAtOnce = max(4, limit / 256)
        var devices: [Int64] = []
        var from = after
        while devices.count < limit {
            let blocks = try prepared(PostgresPostingStatements.blocks).all(
                list.topic, list.platform, from, blocksAtOnce
            ) {
                (first: $0.integer(0), devices: try $0.postings(1))
            }
            for device in blocks.lazy.flatMap(\.devices) where device.rawValue > max(after, devices.last ?? 0) {
                devices.append(device.rawValue)
            }
            guard blocks.count == blocksAtOnce else { break }
            from = blocks[blocksAtOnce - 1].first
        }
        return Array(devices.prefix(limit))
    }

    func devices(_ keys: [Key<Device>], on platform: Key<Platform>, after: Int64, limit: Int) throws -> [Int64] {
        try prepared(PostgresPostingStatements.named).all(PostgresArray(keys), platform, after, limit) { $0.integer(0) }
    }
}

enum PostgresPostingStatements {
    /// Scans the primary key.
    static let topic = """
        SELECT device_id /* postings.topic */ FROM subscription
         WHERE topic_id = $1 AND platform_id = $2 AND device_id > $3
         ORDER BY device_id
         LIMIT $4
        """

    /// Scans the primary key, from the last block that begins at or before the position.
    static let blocks = """
        SELECT first_device_id, devices /* postings.blocks */ FROM subscription_block
         WHERE topic_id = $1 AND platform_id = $2 AND first_device_id >= coalesce((
            SELECT first_device_id FROM subscription_block
             WHERE topic_id = $1 AND platform_id = $2 AND first_device_id <= $3
             ORDER BY first_device_id DESC
             LIMIT 1), 0)
         ORDER BY first_device_id
         LIMIT $4
        """

    /// Looks each up in the primary key; see `PostgresDeviceStatements`.
    static let named = """
        SELECT id /* postings.named */ FROM device
         WHERE id = ANY ($1) AND platform_id + 0 = $2 AND id + 0 > $3 AND registered_at_ms IS NOT NULL
         ORDER BY id
         LIMIT $4
        """

    static let add = """
        INSERT INTO subscription /* postings.add */ (topic_id, platform_id, device_id)
        SELECT topic_id, platform_id, device_id FROM unnest($1, $2, $3) AS gained (topic_id, platform_id, device_id)
            ON CONFLICT DO NOTHING
        """

    /// Looks each up in the primary key, one after the other, whatever the planner believes of the table's size.
    static let remove = """
        DELETE FROM subscription /* postings.remove */
         WHERE ctid = ANY (ARRAY(
            SELECT found.ctid
              FROM unnest($1, $2, $3) AS lost (topic_id, platform_id, device_id)
             CROSS JOIN LATERAL (
                SELECT ctid FROM subscription
                 WHERE topic_id = lost.topic_id AND platform_id = lost.platform_id AND device_id = lost.device_id
                 LIMIT 1) AS found))
        """
}
