import PostgreSQL

/// The name of a topic within its application.
struct TopicName: Hashable, Comparable {
    let application: Key<Application>
    let name: String

    static func < (left: Self, right: Self) -> Bool { (left.application, left.name) < (right.application, right.name) }
}

extension PostgresWriteSession {
    /// The topics of these names, created where they do not exist. Another transaction may delete them before this one
    /// ends: the result is as if they had been deleted after it.
    func intern(_ wanted: Set<TopicName>) throws -> [TopicName: Topic] {
        var topics = try db.livingTopics(wanted, at: now)
        for name in wanted.sorted() where topics[name] == nil {
            topics[name] = try intern(name.name, expiresAt: nil, in: name.application).topic
        }
        return topics
    }

    package func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws
        -> NewTopic.CreationResult
    {
        while true {
            let old = try prepared(TopicStatements.byName).first(application, name, as: Topic.init)
            if let old, old.isLiving(at: now) { return .existed(old) }
            if let old { try TopicDeletion(session: self).delete(old.key, of: application, expiredAt: now) }
            // Another node may create it at the same time; then it is found in the next round.
            let key = try prepared(PostgresTopicStatements.insert).first(application, name, expiresAt) {
                Key<Topic>($0.integer(0))
            }
            if let key {
                note(1, .topics, of: application)
                return .created(Topic(key: key, name: name, expiresAt: expiresAt))
            }
        }
    }

    package func checkTopics(_ names: Set<String>, of application: Key<Application>) throws {
        guard let room = try topicRoom(of: application), names.count > room else { return }
        let there = try existing(Set(names.map { TopicName(application: application, name: $0) }))
        try check(.topics, of: application, adding: names.count - there.count)
    }

    /// nil where there is no limit.
    func topicRoom(of application: Key<Application>) throws -> Int? {
        guard let limit = quotaCounts.quotas[.topics] else { return nil }
        return max(0, limit - (try use(QuotaAccount(.topics, of: application))))
    }

    /// The names that a topic has, expired topics included.
    func existing(_ names: Set<TopicName>) throws -> Set<TopicName> { Set(try db.topics(names).keys) }

    /// Comes first. Fixed lock order; avoids deadlocks.
    package func forgetTopics() throws { try prepared(PostgresTopicDeletionStatements.countOn).send() }

    /// The topics that exist, locked against deletion until the transaction ends, for a write that adds devices to
    /// their lists.
    func holdTopics(_ ids: Set<Int64>) throws -> Set<Int64> {
        guard !ids.isEmpty else { return [] }
        return Set(try prepared(PostgresTopicStatements.hold).all(PostgresArray(ids.sorted()), now) { $0.integer(0) })
    }

    /// The names of topic ids, without deleted topics.
    func livingTopics(_ ids: Set<Int64>) throws -> [Int64: String] {
        guard !ids.isEmpty else { return [:] }
        let topics = try db.topics(ids.sorted())
        return Dictionary(
            topics.filter { $0.isLiving(at: now) }.map { ($0.key.rawValue, $0.name) },
            uniquingKeysWith: { first, _ in first })
    }
}

extension Connection {
    func livingTopics(
        _ names: Set<String>, of application: Key<Application>, at now: Instant
    ) throws -> Set<String> {
        let wanted = Set(names.map { TopicName(application: application, name: $0) })
        return Set(try livingTopics(wanted, at: now).keys.map(\.name))
    }

    fileprivate func livingTopics(_ names: Set<TopicName>, at now: Instant) throws -> [TopicName: Topic] {
        try topics(names).filter { $0.value.isLiving(at: now) }
    }

    fileprivate func topics(_ names: Set<TopicName>) throws -> [TopicName: Topic] {
        guard !names.isEmpty else { return [:] }
        let ordered = names.sorted()
        var topics: [TopicName: Topic] = [:]
        try prepared(PostgresTopicStatements.byNames).each(
            PostgresArray(ordered.map(\.application)), PostgresArray(ordered.map(\.name))
        ) { topics[TopicName(application: Key($0.integer(3)), name: $0.text(1))] = Topic($0) }
        return topics
    }
}

enum PostgresTopicStatements {
    /// Scans `topic_name`.
    static let byNames = """
        SELECT found.id, found.name, found.expires_at_ms, found.application_id /* topics.by_names */
          FROM unnest($1, $2) AS wanted (application_id, name)
         CROSS JOIN LATERAL (
            SELECT id, name, expires_at_ms, application_id FROM topic
             WHERE topic.application_id = wanted.application_id AND topic.name = wanted.name
             LIMIT 1) AS found
        """

    /// The topics that exist. They are not deleted until the transaction ends.
    static let hold = """
        SELECT id /* topics.hold */ FROM topic
         WHERE id = ANY ($1) AND (expires_at_ms IS NULL OR expires_at_ms > $2)
         ORDER BY id
           FOR KEY SHARE
        """

    static let insert = """
        INSERT INTO topic /* topics.insert */ (application_id, name, expires_at_ms) VALUES ($1, $2, $3)
            ON CONFLICT (application_id, name) DO NOTHING
        RETURNING id
        """
}

enum PostgresTopicDeletionStatements {
    static let count = "SELECT topic_deletion_count /* topic_deletion.count */ FROM topic_deletion WHERE id = 1"

    static let countOn =
        "UPDATE topic_deletion /* topic_deletion.count_on */ SET topic_deletion_count = topic_deletion_count + 1 WHERE id = 1"
}
