/// Reads the posting lists of one platform, within its snapshot or transaction.
///
/// A device that is merged meanwhile may be found twice, in its list and among those not merged, and is returned once.
final class DevicePostings<Connection: SQLConnection>: PostingReader {
    private let db: Connection
    private let platform: Key<Platform>
    private let application: Key<Application>
    private let now: Instant
    private var topicIDs: [String: Int64?] = [:]
    /// Read before any list, so that no device that is merged meanwhile is missed.
    private lazy var mark = Result { try db.postingMark() }
    /// Devices that are not in all of their lists yet, by topic: few.
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
        case .active: try read(PostingStatements.active, platform, after, limit)
        case .interactive: try read(PostingStatements.interactive, platform, after, limit)
        case .registered: try read(PostingStatements.registered, platform, after, limit)
        case .customUser(let id): try read(PostingStatements.customUser, platform, id, after, limit)
        case .topic(let name): try topic(name, after: after, limit: limit)
        case .devices(let devices): try db.devices(devices, on: platform, after: after, limit: limit)
        }
    }

    /// The number of devices that are subscribed to the topic.
    func count(ofTopic name: String) throws -> Int {
        guard let list = try list(ofTopic: name) else { return 0 }
        let last = try mark.get().last(of: list)
        let merged = try db.prepared(PostingStatements.topicCount).count(list.topic, platform)
        return try merged + unmerged(in: list, after: last).count
    }

    /// nil when there is no topic of the name, or it has expired.
    func topicID(_ name: String) throws -> Int64? {
        if let known = topicIDs[name] { return known }
        let topic = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        let id = topic?.living(at: now)?.key.rawValue
        topicIDs[name] = .some(id)
        return id
    }

    private func list(ofTopic name: String) throws -> SubscriptionList? {
        try topicID(name).map { SubscriptionList(topic: $0, platform: platform) }
    }

    private func topic(_ name: String, after: Int64, limit: Int) throws -> [Int64] {
        guard let list = try list(ofTopic: name) else { return [] }
        let last = try mark.get().last(of: list)
        let devices = after < last ? try db.merged(list, after: after, limit: limit) : []
        guard devices.count < limit else { return devices }
        return try devices
            + unmerged(in: list, after: max(after, last, devices.last ?? 0)).prefix(limit - devices.count)
    }

    /// Devices that are subscribed to the topic and not in its list yet.
    private func unmerged(in list: SubscriptionList, after: Int64) throws -> ArraySlice<Int64> {
        try unmerged.get()[list.topic, default: []].drop { $0 <= after }
    }

    private func readUnmerged() throws -> [Int64: [Int64]] {
        var found: [Int64: [Int64]] = [:]
        try db.prepared(PostingStatements.unmerged).each(try mark.get().device, platform) { row in
            for topic in try row.withBlob(1, { try TopicList.decode($0) }) {
                found[topic, default: []].append(row.integer(0))
            }
        }
        return found
    }

    private func read<each Value: SQLValue>(_ sql: SQLText, _ values: repeat each Value) throws -> [Int64] {
        try db.prepared(sql).all(repeat each values) { $0.integer(0) }
    }
}

extension SQLConnection {
    func postings(
        of platform: Key<Platform>, application: Key<Application>, now: Instant
    ) -> DevicePostings<Self> {
        DevicePostings(self, platform: platform, application: application, now: now)
    }
}

enum PostingStatements {
    /// Merges two ranges of `device_reach`.
    static let active: SQLText = """
        \(reach: 1) /* postings.active */
        UNION ALL
        \(reach: 2)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_reach`.
    static let interactive: SQLText = """
        SELECT id /* postings.interactive */ FROM device
         WHERE platform_id = $1 AND reach = 2 AND id > $2
         ORDER BY id
         LIMIT $3
        """

    /// Merges three ranges of `device_reach`.
    static let registered: SQLText = """
        \(reach: 0) /* postings.registered */
        UNION ALL
        \(reach: 1)
        UNION ALL
        \(reach: 2)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_custom_user`.
    static let customUser: SQLText = """
        SELECT id /* postings.custom_user */ FROM device
         WHERE platform_id = $1 AND custom_user_id = $2 AND reach > 0 AND id > $3
         ORDER BY id
         LIMIT $4
        """

    /// Scans the primary keys.
    static let topicCount: SQLText = """
        SELECT \(
            sqlite: "coalesce(sum(device_count), 0) FROM subscription WHERE topic_id = $1 AND platform_id = $2",
            postgres: """
                (SELECT count(*) FROM subscription WHERE topic_id = $1 AND platform_id = $2)
                       + (SELECT coalesce(sum(device_count), 0)::bigint FROM subscription_block
                           WHERE topic_id = $1 AND platform_id = $2)
                """) /* postings.topic_count */
        """

    /// Scans the primary key: a column with a zero added to it is in no index.
    static let unmerged: SQLText = """
        SELECT id, topics /* postings.unmerged */ FROM device
         WHERE id > $1 AND platform_id + 0 = $2 AND reach + 0 > 0
         ORDER BY id
        """
}

extension SQLText.StringInterpolation {
    /// The devices `$1` of a reach after `$2`. SQLite merges such ranges by itself; PostgreSQL needs a limit for each.
    fileprivate mutating func appendInterpolation(reach: Int) {
        let range = "SELECT id FROM device WHERE platform_id = $1 AND reach = \(reach) AND id > $2"
        appendInterpolation(sqlite: range, postgres: "(\(range) ORDER BY id LIMIT $3)")
    }
}
