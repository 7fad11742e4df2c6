/// Changes the topics of applications. Each change has its line in the audit log; each function throws `StoreError.unknown` if
/// there is no such topic.
package struct TopicService: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    /// Creates topics. An existing topic stays as it is. Returns the result for each, in order.
    package func create(
        _ topics: [NewTopic], of application: Application, by author: AuditAuthor
    ) async throws -> [NewTopic.CreationResult] {
        let details = topics.count == 1 ? ["topic": topics[0].name] : ["topics": String(topics.count)]
        let change = AuditedChange(by: author, "topic.create", application, details)
        return try await store.audited(change) { try await store.create(topics, of: application.key) }
    }

    package func create(
        _ topic: NewTopic, of application: Application, by author: AuditAuthor
    ) async throws -> NewTopic.CreationResult {
        guard let fate = try await create([topic], of: application, by: author).first else {
            throw StoreError.unknown("such topic")
        }
        return fate
    }

    /// - Parameter expiresAt: nil for a topic that stays.
    package func change(
        _ topic: Topic, of application: Application, expiresAt: Instant?, by author: AuditAuthor
    ) async throws -> Topic {
        let details = ["topic": topic.name, "expires_at": expiresAt?.text ?? "never"]
        return try await store.audited(
            AuditedChange(by: author, "topic.update", application, details), orUnknown: "topic"
        ) {
            try await store.change(topic.key, of: application.key, expiresAt: expiresAt)
        }
    }

    /// Deletes a topic and unsubscribes its devices.
    package func delete(_ topic: Topic, of application: Application, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "topic.delete", application, ["topic": topic.name])
        _ = try await store.audited(change) { try await store.deleteTopics([topic.key], of: application.key) }
    }

    /// Deletes topics, and leaves unknown ones out; returns how many there were.
    package func delete(
        _ topics: [Key<Topic>], of application: Application, by author: AuditAuthor
    ) async throws -> Int {
        let change = AuditedChange(
            by: author, "topic.delete", application,
            topics.count == 1 ? ["topic": "\(topics[0])"] : ["topics": String(topics.count)])
        return try await store.audited(change) { try await store.deleteTopics(topics, of: application.key) }
    }
}
