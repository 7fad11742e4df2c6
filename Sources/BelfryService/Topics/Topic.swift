/// A keyword that devices subscribe to. Topics compare without case, so their names are kept with case folded.
package struct Topic: Sendable, Hashable {
    package let key: Key<Topic>
    package let name: String
    /// When the topic ends and its name is free; nil for never.
    package let expiresAt: Instant?

    /// The normalized form of a topic's name; throws on an empty or over-long one, and on one with control characters.
    package static func normalized(_ name: String, field: String) throws(InvalidInput) -> String {
        guard !name.isEmpty else { throw InvalidInput(field: field, "is an empty topic name") }
        return try checked(try name.asName(field: field).caseFolded, field)
    }

    private static func checked(_ name: String, _ field: String) throws(InvalidInput) -> String {
        guard name.utf8.count <= Registration.topicBytesMax else {
            throw InvalidInput(
                field: field, "is \(name.utf8.count) bytes, the limit is \(Registration.topicBytesMax)")
        }
        return name
    }

    /// The tags of a geofence. Devices compare them with tags in the form that their SDK makes: lower case, and not
    /// folded. Source: PCFTagsHelper.m, Util.java, `docs/compatibility/pcf.md`.
    package static func tags(_ names: [String], field: String) throws(InvalidInput) -> [String] {
        _ = try normalized(names, field: field)
        return names.map(\.asName.lowerCase)
    }

    /// The normalized names; throws on the first invalid one, naming its position.
    package static func normalized(_ names: [String], field: String) throws(InvalidInput) -> [String] {
        var normalized: [String] = []
        normalized.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            do {
                normalized.append(try Self.normalized(name, field: ""))
            } catch {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return normalized
    }
}

extension Topic {
    /// From the columns of `TopicStatements.byName` and its like.
    init(_ row: some SQLRow) {
        self.init(key: Key(row.integer(0)), name: row.text(1), expiresAt: row.instantIfAny(2))
    }

    func isLiving(at now: Instant) -> Bool { expiresAt.map { $0 > now } ?? true }

    /// nil when its time has come.
    func living(at now: Instant) -> Topic? { isLiving(at: now) ? self : nil }
}

extension SQLConnection {
    /// The names of a device's topic ids, sorted; without deleted and expired topics.
    func topicNames(_ ids: [Int64], at now: Instant) throws -> [String] {
        try topics(ids).filter { $0.isLiving(at: now) && !DeviceLabel.isLabel($0.name) }.map(\.name).sorted()
    }

    /// The names of a device's labels.
    func labels(_ ids: [Int64]) throws -> [String] { try topics(ids).map(\.name).filter(DeviceLabel.isLabel) }

    /// The topics that exist, expired ones included.
    func topics(_ ids: some Collection<Int64>) throws -> [Topic] {
        guard !ids.isEmpty else { return [] }
        return try prepared(TopicStatements.byIDs).all(SQLKeys(ids), as: Topic.init)
    }
}

enum TopicStatements {
    static let byName: SQLText = """
        SELECT id, name, expires_at_ms /* topics.by_name */ FROM topic WHERE application_id = $1 AND name = $2
        """

    static let byIDs: SQLText = "SELECT id, name, expires_at_ms /* topics.by_ids */ FROM topic WHERE id \(among: "$1")"
}

/// A topic that a back end wants to create.
package struct NewTopic: Sendable, Hashable {
    /// The normalized name.
    package let name: String
    package let expiresAt: Instant?

    /// The most topics one request may create or delete.
    /// Source: PCF Push API, "Create topics in batch".
    package static let batchMax = 1_024
    /// Topics per write, so that other writes run in between.
    package static let perWrite = 64
    /// Source: PCF Push API, "Create a topic", timeToLive.
    package static let timeToLiveMin = Duration.seconds(60)
    /// Ten years.
    package static let timeToLiveMax = Duration.seconds(315_360_000)

    /// Whether a topic was created, or existed before.
    package enum CreationResult: Sendable, Hashable {
        case created(Topic)
        case existed(Topic)

        package var topic: Topic {
            switch self {
            case .created(let topic), .existed(let topic): topic
            }
        }
    }

    /// - Parameters:
    ///   - expiresAt: a future time. At most one of this and `timeToLive` may be given.
    ///   - timeToLive: counted from `now`.
    ///   - field: the path of the topic in the request, such as `topics[3].`; empty at the top.
    package init(
        name: String, expiresAt: Instant? = nil, timeToLive: Duration? = nil, now: Instant, field: String = ""
    ) throws(InvalidInput) {
        self.name = try Topic.normalized(name, field: field + "name")
        if expiresAt != nil, timeToLive != nil {
            throw InvalidInput(field: field + "expireAt", "and timeToLive exclude each other, give one of them")
        }
        if let expiresAt, expiresAt <= now {
            throw InvalidInput(field: field + "expireAt", "is \(expiresAt.milliseconds), which is not in the future")
        }
        if let timeToLive, timeToLive < Self.timeToLiveMin {
            throw InvalidInput(
                field: field + "timeToLive", "is \(timeToLive.components.seconds) s, the least is 60 s")
        }
        if let timeToLive, timeToLive > Self.timeToLiveMax {
            throw InvalidInput(
                field: field + "timeToLive",
                "is \(timeToLive.components.seconds) s, the most is \(Self.timeToLiveMax.components.seconds) s")
        }
        self.expiresAt = expiresAt ?? timeToLive.map { now + $0 }
    }
}
