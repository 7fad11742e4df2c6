import FoundationEssentials
import Hummingbird

extension Admin {
    /// Topics of an application: `/admin/v1/apps/:app_uuid/topics`, by their names.
    struct Topics: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/topics", .read, list),
                factory.application(.post, "apps/:app_uuid/topics", .change, create),
                factory.application(.get, "apps/:app_uuid/topics/:topic", .read, show),
                factory.application(.patch, "apps/:app_uuid/topics/:topic", .change, update),
                factory.application(.delete, "apps/:app_uuid/topics/:topic", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging + ["q"])
            let limit = try query.limit()
            let after = try query.text("cursor").map { try TextCursor.decode($0) }
            let topics = TopicQuery(applicationKey: application.key, text: query.text("q"))
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.topics(topics, after: after, limit: limit + 1)
            }
            let page = found.elements.prefix(limit)
            return try Response(
                TopicsReply(
                    total: found.total, topics: page.map(TopicReply.init),
                    next_cursor: found.elements.count > limit ? page.last.map { TextCursor.encode($0.name) } : nil))
        }

        /// An existing topic stays as it is, and the status is 200.
        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let topic = try await call.body(as: NewTopicBody.self).checked(at: factory.clock.now)
            let fate = try await factory.services.topics.create(topic, of: application, by: call.author)
            let isNew = if case .created = fate { true } else { false }
            return try Response(status: isNew ? .created : .ok, TopicReply(fate.topic))
        }

        /// Deletes a topic. Its devices are unsubscribed.
        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            try await factory.services.topics.delete(
                try await found(call, application), of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            try Response(TopicReply(try await found(call, application)))
        }

        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let expiresAt = try await call.body(as: TopicChangeBody.self).checked(at: factory.clock.now)
            let topic = try await found(call, application)
            return try Response(
                TopicReply(
                    try await factory.services.topics.change(
                        topic, of: application, expiresAt: expiresAt, by: call.author)
                ))
        }

        private func found(_ call: Call, _ application: Application) async throws -> Topic {
            guard let name = try call.text("topic"),
                let topic = try await factory.store.topic(
                    named: try Topic.normalized(name, field: "topic"), of: application.key)
            else { throw APIError.missing("topic") }
            return topic
        }
    }

    private struct TopicChangeBody: Body {
        static let fields = ["expires_at"]
        private var expiresAt: Instant?
        private var isGiven = false

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            isGiven = true
            expiresAt = try reader.instant(field)
        }

        /// nil for a topic that stays, which has to be said by `null`.
        func checked(at now: Instant) throws(InvalidInput) -> Instant? {
            guard isGiven else { throw InvalidInput.missing("expires_at") }
            if let expiresAt, expiresAt <= now { throw InvalidInput.over("expires_at", expiresAt, now) }
            return expiresAt
        }
    }

    private struct NewTopicBody: Body {
        static let fields = ["name", "expires_at"]
        private var name: String?
        private var expiresAt: Instant?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            default: expiresAt = try reader.instant(field)
            }
        }

        func checked(at now: Instant) throws(InvalidInput) -> NewTopic {
            guard let name else { throw InvalidInput.missing("name") }
            if let expiresAt, expiresAt <= now { throw InvalidInput.over("expires_at", expiresAt, now) }
            return try NewTopic(name: name, expiresAt: expiresAt, now: now)
        }
    }

    /// A topic.
    package struct TopicReply: Codable, Sendable {
        package let name: String
        @OrNull package var expires_at: String?

        package init(_ topic: Topic) {
            name = topic.name
            _expires_at = OrNull(wrappedValue: topic.expiresAt?.text)
        }
    }

    /// A page of topics.
    package struct TopicsReply: Codable, Sendable {
        package let total: Int
        package let topics: [TopicReply]
        @OrNull package var next_cursor: String?
    }
}
