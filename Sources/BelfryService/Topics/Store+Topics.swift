extension Store {
    /// A page of the matching topics, by name.
    ///
    /// - Parameter name: the last of the page before; nil at the beginning.
    package func topics(
        _ query: TopicQuery, after name: String? = nil, skip: Int = 0, limit: Int
    ) async throws -> ListPage<Topic> {
        let now = clock.now
        return try await search(for: query.applicationKey) { db, _ in
            let application = query.applicationKey
            let topics = try db.prepared(TopicListStatements.slice).all(
                application, query.text, query.hasExpiry, now, skip, limit, max(name ?? "", " "), as: Topic.init)
            let total = try db.prepared(TopicListStatements.count).count(application, query.text, query.hasExpiry, now)
            return ListPage(topics, total: total)
        }
    }

    /// The next topics after a name, by name, for readers of the whole list.
    package func topics(of application: Key<Application>, after name: String?, limit: Int) async throws -> [Topic] {
        let now = clock.now
        return try await read { db in
            try db.prepared(TopicListStatements.behind).all(application, name ?? " ", now, limit, as: Topic.init)
        }
    }

    package func topic(named name: String, of application: Key<Application>) async throws -> Topic? {
        let now = clock.now
        return try await read { db in
            try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)?.living(at: now)
        }
    }

    package func create(_ topics: [NewTopic], of application: Key<Application>) async throws -> [NewTopic
        .CreationResult]
    {
        let names = Set(topics.map(\.name))
        return try await topics.inSteps(of: NewTopic.perWrite) { step, isFirst in
            try await writeChange { session in
                try session.check(application)
                try session.checkTopics(isFirst ? names : Set(step.map(\.name)), of: application)
                let results = try step.map { topic in
                    try session.intern(topic.name, expiresAt: topic.expiresAt, in: application)
                }
                let isChange = results.contains { if case .created = $0 { true } else { false } }
                guard isChange else { throw Unchanged(results) }
                return results
            }
        }
    }

    /// Gives a topic another expiry, or none; nil when the application has no such topic.
    package func change(
        _ topic: Key<Topic>, of application: Key<Application>, expiresAt: Instant?
    ) async throws -> Topic? {
        try await writeChange { session in
            let old = try session.prepared(TopicListStatements.ofApplication).first(topic, application, as: Topic.init)
            guard let old, old.isLiving(at: session.now) else { throw Unchanged<Topic?>(nil) }
            // What is remembered of topics has their expiry.
            try session.forgetTopics()
            try session.prepared(TopicListStatements.setExpiry).send(expiresAt, topic)
            return Topic(key: topic, name: old.name, expiresAt: expiresAt)
        }
    }

    /// Deletes those that belong to the application, and returns their number.
    package func deleteTopics(_ keys: [Key<Topic>], of application: Key<Application>) async throws -> Int {
        try await keys.inSteps(of: NewTopic.perWrite) { step, _ in
            try await writeChange { session in
                let now = session.now
                let statement = try session.prepared(TopicListStatements.ofApplication)
                var (deleted, isChange) = ([Key<Topic>](), false)
                for key in step {
                    guard let topic = try statement.first(key, application, as: Topic.init) else { continue }
                    try TopicDeletion(session: session).delete(key, of: application)
                    isChange = true
                    if topic.isLiving(at: now) { deleted.append(key) }
                }
                guard isChange else { throw Unchanged(deleted) }
                return deleted
            }
        }.count
    }
}

/// Labels of devices are no topics to anybody: their names are less than a blank.
enum TopicListStatements {
    /// Scans the index of application and name.
    static let slice: SQLText = """
        SELECT id, name, expires_at_ms /* topics.slice */ FROM topic
         WHERE application_id = $1 AND name > $7
           AND ($2 IS NULL OR \(SQLText.position)(name, $2) > 0)
           AND ($3 IS NULL OR (expires_at_ms IS NOT NULL) = $3)
           AND (expires_at_ms IS NULL OR expires_at_ms > $4)
         ORDER BY name
         LIMIT $6 OFFSET $5
        """

    /// Scans the index of application and name.
    static let count: SQLText = """
        SELECT count(*) /* topics.count */ FROM topic
         WHERE application_id = $1 AND name > ' '
           AND ($2 IS NULL OR \(SQLText.position)(name, $2) > 0)
           AND ($3 IS NULL OR (expires_at_ms IS NOT NULL) = $3)
           AND (expires_at_ms IS NULL OR expires_at_ms > $4)
        """

    /// Scans the index of application and name.
    static let behind: SQLText = """
        SELECT id, name, expires_at_ms /* topics.behind */ FROM topic
         WHERE application_id = $1 AND name > $2 AND (expires_at_ms IS NULL OR expires_at_ms > $3)
         ORDER BY name
         LIMIT $4
        """

    static let setExpiry: SQLText = "UPDATE topic /* topics.set_expiry */ SET expires_at_ms = $1 WHERE id = $2"

    static let ofApplication: SQLText = """
        SELECT id, name, expires_at_ms /* topics.of_application */ FROM topic
         WHERE id = $1 AND application_id = $2 AND name > ' '
           \(SQLText.forUpdate)
        """
}

/// Selects topics of an application.
package struct TopicQuery: Sendable, Hashable {
    package let applicationKey: Key<Application>
    /// A part of the name, with case folded.
    package let text: String?
    /// Only topics that expire, or only those that do not.
    package let hasExpiry: Bool?

    package init(applicationKey: Key<Application>, text: String? = nil, hasExpiry: Bool? = nil) {
        self.applicationKey = applicationKey
        self.text = text?.caseFolded
        self.hasExpiry = hasExpiry
    }
}

/// A device's topic ids in its row: ascending, and encoded like the devices of a batch.
package enum TopicList {
    package static func encode(_ ids: [Int64]) -> [UInt8] { DeviceList.encode(ids.map { Key($0) }) }

    package static func decode(_ bytes: UnsafeRawBufferPointer) throws -> [Int64] {
        guard let topics = DeviceList.decode(bytes) else { throw StoreError.damaged("a device", "its topics") }
        return topics.map(\.rawValue)
    }

    /// None where they are damaged, for readers of many devices: one holds back no other.
    package static func readable(_ bytes: UnsafeRawBufferPointer) -> [Int64] { (try? decode(bytes)) ?? [] }
}
