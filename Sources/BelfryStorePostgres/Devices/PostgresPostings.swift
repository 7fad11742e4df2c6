import BelfryCore
import PostgreSQL

/// Reads the posting lists of one platform, all from the transaction that it is in.
final class PostgresPostings: PostingReader {
    private let db: Connection
    private let platform: Key<Platform>
    private let application: Key<Application>
    private let now: Instant
    private var topicIDs: [String: Int64?] = [:]

    /// - Parameter now: topics whose time has come have no list.
    init(_ db: Connection, platform: Key<Platform>, application: Key<Application>, now: Instant) {
        self.db = db
        self.platform = platform
        self.application = application
        self.now = now
    }

    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64] {
        switch list {
        case .active: try read(PostingStatements.active, platform, after, limit)
        case .interactive: try read(PostingStatements.interactive, platform, after, limit)
        case .registered: try read(PostingStatements.registered, platform, after, limit)
        case .customUser(let id): try read(PostingStatements.customUser, platform, id, after, limit)
        case .topic(let name):
            try topicID(name).map { try read(PostingStatements.topic, $0, platform, after, limit) } ?? []
        case .devices(let devices): try read(PostingStatements.named, PostgresArray(devices), platform, after, limit)
        }
    }

    /// How many devices are subscribed to the topic.
    func count(ofTopic name: String) throws -> Int {
        guard let topic = try topicID(name) else { return 0 }
        return try db.prepared(PostingStatements.topicCount).first(topic, platform) { Int($0.integer(0)) } ?? 0
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

enum PostingStatements {
    /// The first of two stretches of `device_reach`.
    static let active = """
        (SELECT id /* postings.active */ FROM device WHERE platform_id = $1 AND reach = 1 AND id > $2
          ORDER BY id LIMIT $3)
        UNION ALL
        (SELECT id FROM device WHERE platform_id = $1 AND reach = 2 AND id > $2 ORDER BY id LIMIT $3)
         ORDER BY id
         LIMIT $3
        """

    /// Walks `device_reach`.
    static let interactive = """
        SELECT id /* postings.interactive */ FROM device
         WHERE platform_id = $1 AND reach = 2 AND id > $2
         ORDER BY id
         LIMIT $3
        """

    /// The first of three stretches of `device_reach`.
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

    /// Walks `device_custom_user`.
    static let customUser = """
        SELECT id /* postings.custom_user */ FROM device
         WHERE platform_id = $1 AND custom_user_id = $2 AND reach > 0 AND id > $3
         ORDER BY id
         LIMIT $4
        """

    /// Walks the primary key.
    static let topic = """
        SELECT device_id /* postings.topic */ FROM subscription
         WHERE topic_id = $1 AND platform_id = $2 AND device_id > $3
         ORDER BY device_id
         LIMIT $4
        """

    /// Walks the primary key, which covers it.
    static let topicCount = """
        SELECT count(*) /* postings.topic_count */ FROM subscription WHERE topic_id = $1 AND platform_id = $2
        """

    /// Looks each up in the primary key; see `DeviceStatements`.
    static let named = """
        SELECT id /* postings.named */ FROM device
         WHERE id = ANY ($1) AND platform_id + 0 = $2 AND id + 0 > $3 AND registered_at_ms IS NOT NULL
         ORDER BY id
         LIMIT $4
        """
}
