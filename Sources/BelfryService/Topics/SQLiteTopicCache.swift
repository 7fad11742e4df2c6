import GRDB
import PostgreSQL
import Synchronization

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

    package func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws
        -> NewTopic.CreationResult
    {
        let now = now
        if let topic = try topics.topic(named: name, in: application, at: now, db) { return .existed(topic) }
        let expired = try prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        if let expired { try TopicDeletion(session: self).delete(expired.key, of: application, expiredAt: now) }
        try prepared(SQLiteTopicStatements.insert).run(application, name, expiresAt)
        note(1, .topics, of: application)
        let topic = Topic(key: Key(db.lastInsertedRowID), name: name, expiresAt: expiresAt)
        topics.learn(topic, application)
        return .created(topic)
    }

    package func checkTopics(_ names: some Collection<String>, of application: Key<Application>) throws {
        guard !names.isEmpty, let limit = quotaCounts.quotas[.topics] else { return }
        guard try names.count > limit - use(QuotaAccount(.topics, of: application)) else { return }
        let byName = try prepared(TopicStatements.byName)
        let new = try names.count { try !byName.hasRow(application, $0) }
        try check(.topics, of: application, adding: new)
    }

    package func forgetTopics() { topics = SQLiteTopicCache() }
}

enum SQLiteTopicStatements {
    static let byID = "SELECT id, name, expires_at_ms /* topics.by_id */ FROM topic WHERE id = ?1"

    static let insert = """
        INSERT INTO topic /* topics.insert */ (application_id, name, expires_at_ms) VALUES (?1, ?2, ?3)
        """
}

/// Topics by name, as far as they were looked up: most devices share few topics. An entry is valid until any node
/// deletes a topic; readers know how many were deleted, and are given nothing older.
final class PostgresTopicCache: Sendable {
    typealias Topics = [Key<Application>: [String: Topic]]

    private struct State {
        var topicDeletions: Int64 = 0
        var topics: Topics = [:]
        var count = 0
        let begunAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Beyond this many entries all are dropped, so that an app that invents names takes no memory.
    private static let countMax = 100_000
    /// A database that was restored from a backup may have the same number of deletions, and other topics.
    private static let ageMax = Duration.seconds(60)

    /// The topics looked up since that many deletions.
    func topics(since topicDeletions: Int64) -> Topics {
        state.withLock { state in
            if state.begunAt.duration(to: .now) > Self.ageMax { state = State() }
            return state.topicDeletions == topicDeletions ? state.topics : [:]
        }
    }

    /// Called with topics once the transaction that found or created them has committed.
    func learn(_ topics: [TopicName: Topic], since topicDeletions: Int64) {
        state.withLock { state in
            guard topicDeletions >= state.topicDeletions else { return }
            if topicDeletions > state.topicDeletions || state.count + topics.count > Self.countMax {
                state = State(topicDeletions: topicDeletions)
            }
            for (name, topic) in topics { state.topics[name.application, default: [:]][name.name] = topic }
            state.count += topics.count
        }
    }
}

/// Deletes topics: their names at once, their posting lists in short steps.
///
/// The rest of a deleted topic is cleared by the maintenance of this process or the next. Its id is never reused, so
/// the rest is harmless.
struct TopicDeletion<Session: WriteSession> {
    let session: Session

    /// Topics deleted, or subscriptions cleared, in one step.
    private static var stride: Int { 200 }

    /// Unsubscribes all devices and frees the name. Where a time is given, a topic that does not expire until then, because it was
    /// changed meanwhile, stays.
    func delete(_ topic: Key<Topic>, of application: Key<Application>, expiredAt time: Instant? = nil) throws {
        try session.forgetTopics()
        guard try session.prepared(TopicDeletionStatements.delete).run(topic, time) > 0 else { return }
        try session.prepared(TopicDeletionStatements.note).send(topic)
        session.note(-1, .topics, of: application)
    }

    /// Deletes expired topics, and clears some of the rest of deleted ones.
    func step() throws {
        let expired = try session.prepared(TopicDeletionStatements.expired).all(session.now, Self.stride) {
            (topic: Key<Topic>($0.integer(0)), application: Key<Application>($0.integer(1)))
        }
        for each in expired { try delete(each.topic, of: each.application, expiredAt: session.now) }
        for _ in 0..<Self.stride where try !clearNext() { return }
    }

    /// Whether a deleted topic is cleared, so that the next may follow; false once rows were deleted, or there is none.
    private func clearNext() throws -> Bool {
        let deletedTopics = try session.prepared(TopicDeletionStatements.next).first {
            (topic: Key<Topic>($0.integer(0)), lastDevice: $0.integer(1))
        }
        guard let deletedTopics else { return false }
        for sql in Session.tables.compactMap({ $0.delete(of: .topic) }) {
            if try session.prepared(sql).run(deletedTopics.topic, Self.stride) > 0 { return false }
        }
        // A device that has not been merged yet may still be added to the list.
        guard try session.db.postingMark().device >= deletedTopics.lastDevice else { return false }
        try session.prepared(TopicDeletionStatements.forget).send(deletedTopics.topic)
        return true
    }
}

enum TopicDeletionStatements {
    static let delete: SQLText = """
        DELETE FROM topic /* topic_deletion.delete */ WHERE id = $1 AND ($2 IS NULL OR expires_at_ms <= $2)
        """

    /// In PostgreSQL a transaction that adds to the lists locks the topic, and so had ended when it was deleted.
    static let note: SQLText = """
        INSERT INTO deleted_topic /* topic_deletion.note */ \(
            sqlite: "(topic_id, last_device_id) SELECT $1, coalesce(max(id), 0) FROM device",
            postgres: "(topic_id) VALUES ($1) ON CONFLICT DO NOTHING")
        """

    /// Scans `topic_expiry`.
    static let expired: SQLText = """
        SELECT id, application_id /* topic_deletion.expired */ FROM topic WHERE expires_at_ms <= $1 LIMIT $2
        """

    static let next: SQLText = """
        SELECT topic_id, last_device_id /* topic_deletion.next */ FROM deleted_topic ORDER BY topic_id LIMIT 1
        """

    static let forget: SQLText = "DELETE FROM deleted_topic /* topic_deletion.forget */ WHERE topic_id = $1"
}
