import BelfryCore
import PostgreSQL

/// A topic as it is written: names are an application's own.
struct TopicName: Hashable, Comparable {
    let application: Key<Application>
    let name: String

    static func < (left: Self, right: Self) -> Bool { (left.application, left.name) < (right.application, right.name) }
}

extension WriteSession {
    /// The topics of these names, which are made where there are none. Another may bury them before this transaction ends:
    /// then it is as if they had been buried behind it.
    func intern(_ wanted: Set<TopicName>) throws -> [TopicName: Topic] {
        var topics = try found(wanted)
        for name in wanted.sorted() where topics[name] == nil {
            topics[name] = try intern(name.name, expiresAt: nil, in: name.application).topic
        }
        return topics
    }

    /// Those of the names that have a living topic.
    func living(_ names: Set<TopicName>) throws -> Set<TopicName> { Set(try found(names).keys) }

    private func found(_ names: Set<TopicName>) throws -> [TopicName: Topic] {
        guard !names.isEmpty else { return [:] }
        let ordered = names.sorted()
        var topics: [TopicName: Topic] = [:]
        try prepared(TopicStatements.byNames).each(
            PostgresArray(ordered.map(\.application)), PostgresArray(ordered.map(\.name))
        ) { row in
            let topic = Topic(row)
            guard topic.isLiving(at: now) else { return }
            topics[TopicName(application: Key(row.integer(3)), name: topic.name)] = topic
        }
        return topics
    }

    /// Makes the topic unless there is one. One of the name whose time has come is buried first.
    func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws -> NewTopic.Fate {
        while true {
            let old = try prepared(TopicStatements.byName).first(application, name, as: Topic.init)
            if let old, old.isLiving(at: now) { return .existed(old) }
            if let old { try TopicBurial(session: self).bury(old.key, of: application) }
            // Another node may make it at the same time; then it is found in the next round.
            let key = try prepared(TopicStatements.insert).first(application, name, expiresAt) {
                Key<Topic>($0.integer(0))
            }
            if let key {
                note(1, .topics, of: application)
                return .created(Topic(key: key, name: name, expiresAt: expiresAt))
            }
        }
    }

    /// Those of the topics that live, and stay until the transaction ends: whoever brings devices into their lists needs that.
    func holdTopics(_ ids: Set<Int64>) throws -> Set<Int64> {
        guard !ids.isEmpty else { return [] }
        return Set(try prepared(TopicStatements.hold).all(PostgresArray(ids.sorted()), now) { $0.integer(0) })
    }

    /// The names behind topic ids, without those that are gone.
    func livingTopics(_ ids: Set<Int64>) throws -> [Int64: String] {
        guard !ids.isEmpty else { return [:] }
        let topics = try db.topics(ids.sorted())
        return Dictionary(
            topics.filter { $0.isLiving(at: now) }.map { ($0.key.rawValue, $0.name) },
            uniquingKeysWith: { first, _ in first })
    }
}

extension Connection {
    /// The names behind a device's topic ids, sorted; without those that are gone.
    func topicNames(_ ids: [Int64], at now: Instant) throws -> [String] {
        guard !ids.isEmpty else { return [] }
        return try topics(ids).filter { $0.isLiving(at: now) }.map(\.name).sorted()
    }

    fileprivate func topics(_ ids: [Int64]) throws -> [Topic] {
        try prepared(TopicStatements.byIDs).all(PostgresArray(ids), as: Topic.init)
    }
}

extension Topic {
    /// From the columns of `TopicStatements.byName` and its like.
    init(_ row: Row) {
        self.init(key: Key(row.integer(0)), name: row.text(1), expiresAt: row.instantIfAny(2))
    }

    func isLiving(at now: Instant) -> Bool {
        guard let expiresAt else { return true }
        return expiresAt > now
    }
}

enum TopicStatements {
    static let byName = """
        SELECT id, name, expires_at_ms /* topics.by_name */ FROM topic WHERE application_id = $1 AND name = $2
        """

    static let byIDs = """
        SELECT id, name, expires_at_ms /* topics.by_ids */ FROM topic WHERE id = ANY ($1)
        """

    /// Walks `topic_name`.
    static let byNames = """
        SELECT found.id, found.name, found.expires_at_ms, found.application_id /* topics.by_names */
          FROM unnest($1, $2) AS wanted (application_id, name)
         CROSS JOIN LATERAL (
            SELECT id, name, expires_at_ms, application_id FROM topic
             WHERE topic.application_id = wanted.application_id AND topic.name = wanted.name
             LIMIT 1) AS found
        """

    /// Those that live. Nobody buries them until the transaction ends.
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
