import GRDB

/// Topics by name and by id, as far as they were looked up: most devices share few topics.
struct SQLiteTopicCache {
    private var topics: [Key<Application>: [String: Topic]] = [:]
    private var topicsByID: [Int64: Topic] = [:]

    /// Beyond this many entries all are dropped, so that an app that invents names takes no memory.
    private static let countMax = 100_000

    /// nil when there is none, or it has expired.
    mutating func topic(
        named name: String, in application: Key<Application>, at now: Instant, _ db: Database
    ) throws -> Topic? {
        if let known = topics[application]?[name] { return known.living(at: now) }
        let found = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        if let found { learn(found, application) }
        return found?.living(at: now)
    }

    /// nil when the topic was deleted, or has expired.
    mutating func name(
        of id: Int64, in application: Key<Application>, at now: Instant, _ db: Database
    ) throws -> String? {
        if let known = topicsByID[id] { return known.living(at: now)?.name }
        guard let topic = try db.prepared(SQLiteTopicStatements.byID).first(id, as: Topic.init) else { return nil }
        learn(topic, application)
        return topic.living(at: now)?.name
    }

    /// The ids of the topics that are cached and have not expired; nil for the others.
    func ids(of names: [String], in application: Key<Application>, at now: Instant) -> [Int64?] {
        let known = topics[application] ?? [:]
        return names.map { known[$0]?.living(at: now)?.key.rawValue }
    }

    mutating func learn(_ topic: Topic, _ application: Key<Application>) {
        if topicsByID.count >= Self.countMax { (topics, topicsByID) = ([:], [:]) }
        topics[application, default: [:]][topic.name] = topic
        topicsByID[topic.key.rawValue] = topic
    }
}

extension SQLiteWriteSession {
    /// The ids of the names. A new name gets one; throws, before anything is changed, where there would be too many.
    func intern(_ names: [String], in application: Key<Application>, at now: Instant) throws -> [Int64] {
        let known = topics.ids(of: names, in: application, at: now)
        if known.contains(nil) {
            try checkTopics(zip(names, known).filter { $0.1 == nil }.map(\.0), of: application)
        }
        return try zip(names, known).map { name, id in
            try id ?? intern(name, expiresAt: nil, in: application).topic.key.rawValue
        }
    }

    func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws -> NewTopic.CreationResult
    {
        let now = now
        if let topic = try topics.topic(named: name, in: application, at: now, db) { return .existed(topic) }
        let expired = try prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        if let expired { try TopicDeletion(session: self).delete(expired.key, of: application) }
        try prepared(SQLiteTopicStatements.insert).run(application, name, expiresAt)
        note(1, .topics, of: application)
        let topic = Topic(key: Key(db.lastInsertedRowID), name: name, expiresAt: expiresAt)
        topics.learn(topic, application)
        return .created(topic)
    }

    func checkTopics(_ names: some Collection<String>, of application: Key<Application>) throws {
        guard !names.isEmpty, let limit = quotaCounts.quotas[.topics] else { return }
        guard try names.count > limit - use(QuotaAccount(.topics, of: application)) else { return }
        let byName = try prepared(TopicStatements.byName)
        let new = try names.count { try !byName.hasRow(application, $0) }
        try check(.topics, of: application, adding: new)
    }

    func forgetTopics() { topics = SQLiteTopicCache() }
}

enum SQLiteTopicStatements {
    static let byID = "SELECT id, name, expires_at_ms /* topics.by_id */ FROM topic WHERE id = ?1"

    static let insert = """
        INSERT INTO topic /* topics.insert */ (application_id, name, expires_at_ms) VALUES (?1, ?2, ?3)
        """
}
