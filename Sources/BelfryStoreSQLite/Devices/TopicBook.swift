import BelfryCore
import GRDB

/// Topics by name and by id, as far as they were asked for: most devices share few topics.
struct TopicBook {
    private var topics: [Key<Application>: [String: Topic]] = [:]
    private var topicsByID: [Int64: Topic] = [:]

    /// Forgets all beyond this many, so that an app that invents names takes no memory.
    private static let countMax = 100_000

    /// nil when there is none, or its time has come.
    mutating func topic(
        named name: String, in application: Key<Application>, at now: Instant, _ db: Database
    ) throws -> Topic? {
        if let known = topics[application]?[name] { return known.isLiving(at: now) ? known : nil }
        let found = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        if let found { learn(found, application) }
        return found.flatMap { $0.isLiving(at: now) ? $0 : nil }
    }

    /// nil when the topic is gone, or its time has come.
    mutating func name(
        of id: Int64, in application: Key<Application>, at now: Instant, _ db: Database
    ) throws -> String? {
        if let known = topicsByID[id] { return known.isLiving(at: now) ? known.name : nil }
        guard let topic = try db.prepared(TopicStatements.byID).first(id, as: Topic.init) else { return nil }
        learn(topic, application)
        return topic.isLiving(at: now) ? topic.name : nil
    }

    /// The ids of the topics that were asked for before and are living; nil for the others.
    func ids(of names: [String], in application: Key<Application>, at now: Instant) -> [Int64?] {
        let known = topics[application] ?? [:]
        return names.map { known[$0].flatMap { $0.isLiving(at: now) ? $0.key.rawValue : nil } }
    }

    mutating func learn(_ topic: Topic, _ application: Key<Application>) {
        if topicsByID.count >= Self.countMax { (topics, topicsByID) = ([:], [:]) }
        topics[application, default: [:]][topic.name] = topic
        topicsByID[topic.key.rawValue] = topic
    }
}

extension WriteSession {
    /// The ids of the names. One that has none is given one; throws, before anything is changed, where those would be too many.
    func intern(_ names: [String], in application: Key<Application>, at now: Instant) throws -> [Int64] {
        let known = topics.ids(of: names, in: application, at: now)
        if known.contains(nil) {
            try checkTopics(zip(names, known).filter { $0.1 == nil }.map(\.0), of: application)
        }
        return try zip(names, known).map { name, id in
            try id ?? intern(name, expiresAt: nil, in: application, at: now).topic.key.rawValue
        }
    }

    /// Makes the topic unless there is one. One of the name whose time has come is buried first.
    func intern(
        _ name: String, expiresAt: Instant?, in application: Key<Application>, at now: Instant
    ) throws -> NewTopic.Fate {
        if let topic = try topics.topic(named: name, in: application, at: now, db) { return .existed(topic) }
        let expired = try prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        if let expired { try TopicBurial(session: self).bury(expired.key) }
        try prepared(TopicStatements.insert).run(application, name, expiresAt)
        note(1, .topics, of: application)
        let topic = Topic(key: Key(db.lastInsertedRowID), name: name, expiresAt: expiresAt)
        topics.learn(topic, application)
        return .created(topic)
    }
}

extension Database {
    /// The names behind a device's topic ids, sorted; without those that are gone.
    func topicNames(_ ids: [Int64], at now: Instant) throws -> [String] {
        let statement = try prepared(TopicStatements.byID)
        let topics = try ids.compactMap { try statement.first($0, as: Topic.init) }
        return topics.filter { $0.isLiving(at: now) }.map(\.name).sorted()
    }
}

extension Topic {
    /// From the columns of `TopicStatements.byName` and its like.
    init(_ row: Columns) {
        self.init(
            key: Key(row.integer(0)), name: row.text(1),
            expiresAt: row.integerIfAny(2).map(Instant.init(milliseconds:)))
    }

    func isLiving(at now: Instant) -> Bool {
        guard let expiresAt else { return true }
        return expiresAt > now
    }
}

enum TopicStatements {
    static let byName = """
        SELECT id, name, expires_at_ms /* topics.by_name */ FROM topic WHERE application_id = ?1 AND name = ?2
        """

    static let byID = """
        SELECT id, name, expires_at_ms /* topics.by_id */ FROM topic WHERE id = ?1
        """

    static let insert = """
        INSERT INTO topic /* topics.insert */ (application_id, name, expires_at_ms) VALUES (?1, ?2, ?3)
        """
}
