import BelfryCore
import PostgreSQL

/// Reads the posting lists of one platform within its transaction.
///
/// A device that is merged meanwhile may be found twice, in its list and among those not merged, and is returned once.
final class PostgresPostings: SQLPostings {
    private let db: Connection
    private let platform: Key<Platform>
    private let application: Key<Application>
    private let now: Instant
    private var topicIDs: [String: Int64?] = [:]
    /// Read before any list, so that no device that is merged meanwhile is missed.
    private lazy var mark = Result { try db.subscriptionMark() }
    /// Devices not merged yet, by topic; see `PostgresSubscriptionMerge`.
    private lazy var unmerged = Result { try readUnmerged() }

    /// - Parameter now: topics that have expired have no list.
    init(_ db: Connection, platform: Key<Platform>, application: Key<Application>, now: Instant) {
        self.db = db
        self.platform = platform
        self.application = application
        self.now = now
    }

    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64] {
        switch list {
        case .active: try read(PostgresPostingStatements.active, platform, after, limit)
        case .interactive: try read(PostgresPostingStatements.interactive, platform, after, limit)
        case .registered: try read(PostgresPostingStatements.registered, platform, after, limit)
        case .customUser(let id): try read(PostgresPostingStatements.customUser, platform, id, after, limit)
        case .topic(let name): try topic(name, after: after, limit: limit)
        case .devices(let devices):
            try read(PostgresPostingStatements.named, PostgresArray(devices), platform, after, limit)
        }
    }

    private func topic(_ name: String, after: Int64, limit: Int) throws -> [Int64] {
        guard let topic = try topicID(name) else { return [] }
        var parts: [[Int64]] = []
        if after < (try mark.get()) {
            parts.append(try fromBlocks(topic, after: after, limit: limit))
            parts.append(try read(PostgresPostingStatements.topic, topic, platform, after, limit))
        }
        parts.append(try unmerged.get()[topic, default: []].filter { $0 > after })
        parts.removeAll(where: \.isEmpty)
        let devices = parts.count < 2 ? parts.first ?? [] : Set(parts.joined()).sorted()
        return Array(devices.prefix(limit))
    }

    private func fromBlocks(_ topic: Int64, after: Int64, limit: Int) throws -> [Int64] {
        // The first may be the one that was read last.
        let blocksAtOnce = max(4, limit / 256)
        var devices: [Int64] = []
        var from = after
        while devices.count < limit {
            let blocks = try db.prepared(PostgresPostingStatements.blocks).all(
                topic, platform, from, blocksAtOnce
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

    /// The number of devices that are subscribed to the topic.
    func count(ofTopic name: String) throws -> Int {
        guard let topic = try topicID(name) else { return 0 }
        _ = try mark.get()
        let merged = try db.prepared(PostgresPostingStatements.topicCount).first(topic, platform) { Int($0.integer(0)) }
        return try (merged ?? 0) + unmerged.get()[topic, default: []].count
    }

    private func readUnmerged() throws -> [Int64: [Int64]] {
        var found: [Int64: [Int64]] = [:]
        try db.prepared(PostgresPostingStatements.unmerged).each(try mark.get(), platform) { row in
            for topic in try row.withBlob(1, { try TopicList.decode($0) }) {
                found[topic, default: []].append(row.integer(0))
            }
        }
        return found
    }

    func topicID(_ name: String) throws -> Int64? {
        if let known = topicIDs[name] { return known }
        let topic = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        let id = topic.flatMap { $0.isLiving(at: now) ? $0.key.rawValue : nil }
        topicIDs[name] = .some(id)
        return id
    }

    private func read<each Value: PostgresValue>(_ sql: String, _ values: repeat each Value) throws -> [Int64] {
        try db.prepared(sql).all(repeat each values) { $0.integer(0) }
    }
}

enum PostgresPostingStatements {
    /// The first of two ranges of `device_reach`.
    static let active = """
        (SELECT id /* postings.active */ FROM device WHERE platform_id = $1 AND reach = 1 AND id > $2
          ORDER BY id LIMIT $3)
        UNION ALL
        (SELECT id FROM device WHERE platform_id = $1 AND reach = 2 AND id > $2 ORDER BY id LIMIT $3)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_reach`.
    static let interactive = """
        SELECT id /* postings.interactive */ FROM device
         WHERE platform_id = $1 AND reach = 2 AND id > $2
         ORDER BY id
         LIMIT $3
        """

    /// The first of three ranges of `device_reach`.
    static let registered = """
        (SELECT id /* postings.registered */ FROM device WHERE platform_id = $1 AND reach = 0 AND id > $2
          ORDER BY id LIMIT $3)
        UNION ALL
        (SELECT id FROM device WHERE platform_id = $1 AND reach = 1 AND id > $2 ORDER BY id LIMIT $3)
        UNION ALL
        (SELECT id FROM device WHERE platform_id = $1 AND reach = 2 AND id > $2 ORDER BY id LIMIT $3)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_custom_user`.
    static let customUser = """
        SELECT id /* postings.custom_user */ FROM device
         WHERE platform_id = $1 AND custom_user_id = $2 AND reach > 0 AND id > $3
         ORDER BY id
         LIMIT $4
        """

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

    /// Scans both primary keys.
    static let topicCount = """
        SELECT (SELECT count(*) FROM subscription WHERE topic_id = $1 AND platform_id = $2)
               + (SELECT coalesce(sum(device_count), 0)::bigint FROM subscription_block
                   WHERE topic_id = $1 AND platform_id = $2) /* postings.topic_count */
        """

    /// Scans the primary key.
    static let unmerged = """
        SELECT id, topics /* postings.unswept */ FROM device
         WHERE id > $1 AND platform_id + 0 = $2 AND reach + 0 > 0
         ORDER BY id
        """

    /// Looks each up in the primary key; see `PostgresDeviceStatements`.
    static let named = """
        SELECT id /* postings.named */ FROM device
         WHERE id = ANY ($1) AND platform_id + 0 = $2 AND id + 0 > $3 AND registered_at_ms IS NOT NULL
         ORDER BY id
         LIMIT $4
        """
}
