import FoundationEssentials
import Hummingbird

extension Admin {
    /// Addresses to which the events of an application are posted: `/admin/v1/apps/:app_uuid/webhooks`.
    struct Webhooks: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            let path = "apps/:app_uuid/webhooks"
            return [
                factory.application(.get, path, .read, list), factory.application(.post, path, .change, create),
                webhook(.get, "", .read) { _, webhook, _ in try Response(WebhookReply(webhook)) },
                webhook(.patch, "", .change, change), webhook(.delete, "", .change, delete),
                webhook(.post, "/rotate", .change, rotate), webhook(.post, "/test", .change, test),
                webhook(.post, "/pause", .change) { call, webhook, application in
                    try Response(WebhookReply(try await service.pause(webhook, of: application, by: call.author)))
                },
                webhook(.post, "/resume", .change) { call, webhook, application in
                    try Response(WebhookReply(try await service.resume(webhook, of: application, by: call.author)))
                },
                webhook(.post, "/replay", .change, replay), webhook(.get, "/deliveries", .read, deliveries),
            ]
        }

        private var service: WebhookService { factory.services.webhooks }

        private func webhook(
            _ method: HTTPRequest.Method, _ below: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Webhook, Application) async throws -> Response
        ) -> Route {
            factory.application(method, "apps/:app_uuid/webhooks/:webhook_uuid\(below)", action) { call, application in
                let uuid = try call.uuid("webhook_uuid").orMissing("webhook")
                let webhook = try await factory.store.webhook(uuid, of: application.key).orMissing("webhook")
                return try await handler(call, webhook, application)
            }
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let webhooks = try await factory.store.webhooks(of: application.key)
            return try Response(WebhooksReply(webhooks: webhooks.map { WebhookReply($0) }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: WebhookBody.self)
            let made = try await service.create(
                body.edit.name.given(as: "name"), body.edit.url.given(as: "url"), body.edit.kinds.given(as: "kinds"),
                secret: body.secret, of: application, by: call.author)
            return try .created(WebhookReply(made.webhook, secret: made.secret))
        }

        private func change(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            let body = try await call.body(as: WebhookBody.self)
            guard body.secret == nil else {
                throw InvalidInput(
                    field: "secret", "is replaced by POST …/rotate, so that the former one goes on for a while")
            }
            guard body.isChange else { throw InvalidInput.missing("a field") }
            return try Response(
                WebhookReply(try await service.change(webhook, body.edit, of: application, by: call.author)))
        }

        private func delete(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            try await service.delete(webhook, of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func rotate(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            let body = try await call.bodyIfAny(as: RotationBody.self)
            let made = try await service.rotate(
                webhook, to: body.secret, overlap: body.overlap, of: application, by: call.author)
            return try Response(WebhookReply(made.webhook, secret: made.secret))
        }

        private func test(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            let answer = try await factory.shares.holding(.tests, for: ShareHolder(call.key, application)) {
                try await service.test(webhook, of: application, by: call.author)
            }
            return try Response(WebhookTestReply(answer))
        }

        private func replay(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            let body = try await call.body(as: ReplayBody.self)
            switch (body.since, body.events) {
            case (let since?, nil):
                let count = try await service.replay(webhook, since: since, of: application, by: call.author)
                return try Response(ReplayReply(events: count))
            case (nil, let events?):
                let count = try await service.replay(webhook, events, of: application, by: call.author)
                return try Response(ReplayReply(events: Int64(count)))
            case (nil, nil): throw InvalidInput(field: "since", "or events has to be given")
            case (.some, .some): throw InvalidInput(field: "since", "and events exclude each other")
            }
        }

        private func deliveries(_ call: Call, _ webhook: Webhook, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let before = try query.cursor()?.first.map { Key<WebhookAttempt>($0) }
            let found = try await factory.store.attempts(of: webhook.key, before: before, limit: limit)
            let next = found.count == limit ? found.last.map { Cursor($0.key.rawValue).text } : nil
            return try Response(DeliveriesReply(deliveries: found.map { DeliveryReply($0) }, next_cursor: next))
        }
    }

    private struct WebhookBody: Body {
        static let fields = ["name", "url", "kinds", "secret"]
        private(set) var edit = WebhookEdit()
        var isChange: Bool { edit.name != nil || edit.url != nil || edit.kinds != nil }
        private(set) var secret: WebhookSecret?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": edit.name = try reader.string(field)
            case "url": edit.url = try reader.string(field)
            case "kinds":
                edit.kinds = try reader.strings(field).map { names throws(InvalidInput) in
                    try WebhookKinds(names, field: field)
                }
            default: secret = try reader.webhookSecret(field)
            }
        }
    }

    private struct RotationBody: Body {
        static let fields = ["secret", "overlap_seconds"]
        private(set) var secret: WebhookSecret?
        private(set) var overlap = Webhook.overlap

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            if field == "secret" {
                secret = try reader.webhookSecret(field)
            } else if let seconds = try reader.integer(field) {
                overlap = .seconds(seconds)
            }
        }
    }

    private struct ReplayBody: Body {
        static let fields = ["since", "events"]
        private(set) var since: Instant?
        private(set) var events: [String]?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            if field == "since" {
                since = try reader.instant(field)
            } else {
                events = try reader.strings(field)
            }
        }
    }

    private struct WebhooksReply: Encodable {
        let webhooks: [WebhookReply]
    }

    private struct WebhookReply: Encodable {
        let webhook_uuid: String
        let name: String
        let url: String
        let kinds: [String]
        let state: String
        @OrNull var failing_since: String?
        @OrNull var former_secret_until: String?
        let pending: Int64
        let retries: Int
        let dropped: Int64
        let created_at: String
        /// nil where it is not shown.
        let secret: String?

        init(_ webhook: Webhook, secret: WebhookSecret? = nil) {
            (webhook_uuid, name, url) = (webhook.uuid.lowercased, webhook.name, webhook.url)
            kinds = webhook.kinds.names
            state = webhook.state
            (pending, retries, dropped) = (webhook.pending, webhook.retries, webhook.dropped)
            created_at = webhook.createdAt.text
            self.secret = secret?.text
            failing_since = webhook.failingSince?.text
            former_secret_until = webhook.formerUntil?.text
        }
    }

    private struct WebhookTestReply: Encodable {
        let delivered: Bool
        @OrNull var status: Int?
        @OrNull var fault: String?
        let milliseconds: Int
        let answer: String

        init(_ answer: ReceiverAnswer) {
            (delivered, milliseconds, self.answer) = (answer.isDelivered, answer.milliseconds, answer.body)
            (status, fault) = (answer.status, answer.fault)
        }
    }

    private struct ReplayReply: Encodable {
        let events: Int64
    }

    private struct DeliveriesReply: Encodable {
        let deliveries: [DeliveryReply]
        @OrNull var next_cursor: String?
    }

    private struct DeliveryReply: Encodable {
        @OrNull var event_id: String?
        let type: String
        let attempt: Int
        let at: String
        let delivered: Bool
        @OrNull var status: Int?
        @OrNull var fault: String?
        let milliseconds: Int
        let answer: String

        init(_ attempt: WebhookAttempt) {
            (type, self.attempt, at) = (attempt.type, attempt.number, attempt.at.text)
            let answer = attempt.answer
            (delivered, milliseconds, self.answer) = (answer.isDelivered, answer.milliseconds, answer.body)
            (status, fault) = (answer.status, answer.fault)
            event_id = attempt.event.map(WebhookEvent.id)
        }
    }
}

extension Webhook {
    /// `active`, or why nothing is sent.
    var state: String { paused.map { $0 == .asked ? "paused" : $0.rawValue } ?? "active" }
}

extension JSONReader {
    fileprivate mutating func webhookSecret(_ field: String) throws(InvalidInput) -> WebhookSecret? {
        try string(field).map { (text) throws(InvalidInput) in try WebhookSecret(text, field: field) }
    }
}
