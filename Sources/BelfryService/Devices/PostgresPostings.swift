import PostgreSQL

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
}
