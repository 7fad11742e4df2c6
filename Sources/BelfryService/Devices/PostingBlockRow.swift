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
