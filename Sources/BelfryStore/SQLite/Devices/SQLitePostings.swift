import BelfryCore
import GRDB

/// Reads the posting lists of one platform from one snapshot.
final class SQLitePostings: SQLPostings {
    private let db: Database
    private let platform: Key<Platform>
    private let application: Key<Application>
    private let mark: PostingMark
    private let now: Instant
    private var topicIDs: [String: Int64?] = [:]
    /// Devices that are not in all of their lists yet, by topic; see `SQLiteSubscriptionMerge`.
    private lazy var unmerged = Result { try readUnmerged() }

    /// - Parameter now: topics that have expired have no list.
    init(_ db: Database, platform: Key<Platform>, application: Key<Application>, now: Instant) throws {
        self.db = db
        self.platform = platform
        self.application = application
        self.now = now
        mark = try db.postingMark()
    }

    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64] {
        switch list {
        case .active: try read(SQLitePostingStatements.active, platform, after, limit)
        case .interactive: try read(SQLitePostingStatements.interactive, platform, after, limit)
        case .registered: try read(SQLitePostingStatements.registered, platform, after, limit)
        case .customUser(let id): try customUser(id, after: after, limit: limit)
        case .topic(let name): try topic(name, after: after, limit: limit)
        case .devices(let devices): try named(devices, after: after, limit: limit)
        }
    }

    private func read<each Value: SQLiteValue>(_ sql: String, _ values: repeat each Value) throws -> [Int64] {
        try db.prepared(sql).all(repeat each values) { $0.integer(0) }
    }

    private func customUser(_ id: String, after: Int64, limit: Int) throws -> [Int64] {
        try read(SQLitePostingStatements.customUser, platform, id, after, limit)
    }

    private func topic(_ name: String, after: Int64, limit: Int) throws -> [Int64] {
        guard let topic = try topicID(name) else { return [] }
        let last = mark.last(of: SubscriptionList(topic: topic, platform: platform))
        var devices = after < last ? try merged(topic, after: after, limit: limit) : []
        if devices.count < limit {
            devices += try unmerged(topic).lazy.filter { $0 > after }.prefix(limit - devices.count)
        }
        return devices
    }

    /// Devices that are subscribed to the topic and not in its list yet.
    private func unmerged(_ topic: Int64) throws -> some Collection<Int64> {
        let last = mark.last(of: SubscriptionList(topic: topic, platform: platform))
        return try unmerged.get()[topic, default: []].drop { $0 <= last }
    }

    private func merged(_ topic: Int64, after: Int64, limit: Int) throws -> [Int64] {
        var devices: [Int64] = []
        try db.prepared(SQLitePostingStatements.topic).scan(topic, platform, after) { row in
            for device in try PostingBlock(row).devices where device > after && devices.count < limit {
                devices.append(device)
            }
            return devices.count < limit ? .next : .stop
        }
        return devices
    }

    /// The number of devices that are subscribed to the topic.
    func count(ofTopic name: String) throws -> Int {
        guard let topic = try topicID(name) else { return 0 }
        let merged = try db.prepared(SQLitePostingStatements.topicCount).first(topic, platform) { Int($0.integer(0)) }
        return try (merged ?? 0) + unmerged(topic).count
    }

    func topicID(_ name: String) throws -> Int64? {
        if let known = topicIDs[name] { return known }
        let topic = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        let id = topic.flatMap { $0.isLiving(at: now) ? $0.key.rawValue : nil }
        topicIDs[name] = .some(id)
        return id
    }

    private func readUnmerged() throws -> [Int64: [Int64]] {
        var found: [Int64: [Int64]] = [:]
        try db.prepared(SQLitePostingStatements.unmerged).each(mark.device, platform) { row in
            for topic in try row.withBlob(1, { try TopicList.decode($0) }) {
                found[topic, default: []].append(row.integer(0))
            }
        }
        return found
    }

    private func named(_ devices: [Key<Device>], after: Int64, limit: Int) throws -> [Int64] {
        var found: [Int64] = []
        let statement = try db.prepared(SQLitePostingStatements.isOnPlatform)
        for device in devices.firstIndex(where: { $0.rawValue > after }).map({ devices[$0...] }) ?? [] {
            guard found.count < limit else { break }
            if try statement.first(device, platform, as: { _ in true }) != nil { found.append(device.rawValue) }
        }
        return found
    }
}

extension Database {
    func postings(of platform: Key<Platform>, application: Key<Application>, now: Instant) throws -> SQLitePostings {
        try SQLitePostings(self, platform: platform, application: application, now: now)
    }
}

enum SQLitePostingStatements {
    /// Merges two ranges of `device_reach`.
    static let active = """
        SELECT id /* postings.active */ FROM device WHERE platform_id = ?1 AND reach = 1 AND id > ?2
        UNION ALL
        SELECT id FROM device WHERE platform_id = ?1 AND reach = 2 AND id > ?2
         ORDER BY id
         LIMIT ?3
        """

    /// Scans `device_reach`.
    static let interactive = """
        SELECT id /* postings.interactive */ FROM device
         WHERE platform_id = ?1 AND reach = 2 AND id > ?2
         ORDER BY id
         LIMIT ?3
        """

    /// Merges three ranges of `device_reach`.
    static let registered = """
        SELECT id /* postings.registered */ FROM device WHERE platform_id = ?1 AND reach = 0 AND id > ?2
        UNION ALL
        SELECT id FROM device WHERE platform_id = ?1 AND reach = 1 AND id > ?2
        UNION ALL
        SELECT id FROM device WHERE platform_id = ?1 AND reach = 2 AND id > ?2
         ORDER BY id
         LIMIT ?3
        """

    /// Scans `device_custom_user`.
    static let customUser = """
        SELECT id /* postings.custom_user */ FROM device
         WHERE platform_id = ?1 AND custom_user_id = ?2 AND reach > 0 AND id > ?3
         ORDER BY id
         LIMIT ?4
        """

    /// Scans the primary key, from the last block that begins at or before the position.
    static let topic = """
        SELECT device_id, others /* postings.topic */ FROM subscription
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id >= coalesce(
            (SELECT max(device_id) FROM subscription WHERE topic_id = ?1 AND platform_id = ?2 AND device_id <= ?3), 0)
         ORDER BY device_id
        """

    /// Scans the primary key.
    static let topicCount = """
        SELECT coalesce(sum(device_count), 0) /* postings.topic_count */
          FROM subscription
         WHERE topic_id = ?1 AND platform_id = ?2
        """

    static let unmerged = """
        SELECT id, topics /* postings.unswept */ FROM device
         WHERE id > ?1 AND +platform_id = ?2 AND reach > 0
         ORDER BY id
        """

    static let isOnPlatform = "SELECT 1 /* postings.is_on_platform */ FROM device WHERE id = ?1 AND platform_id = ?2"
}
