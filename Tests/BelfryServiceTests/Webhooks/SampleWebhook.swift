import FoundationEssentials

@testable import BelfryService

/// A webhook whose receiver refused an event of the feed.
struct SampleWebhook {
    let webhook: Webhook
    let event: WebhookEvent

    init(
        _ text: String, of application: BelfryService.Application, in store: SQLiteStore, sealedBy vault: any Vault
    ) async throws {
        let uuid = UUID()
        try await store.create(
            text, "https://\(text)", [.credentialsExpiring], as: uuid,
            secrets: try WebhookSeal(current: WebhookSecret().text).sealed(by: vault, for: uuid), for: application.key)
        try await store.setFeed(of: application.key, to: [.credentialsExpiring])
        event = try await store.tell(.credentialsExpiring, of: application, about: text)
        guard let found = try await store.webhook(uuid, of: application.key) else {
            throw StoreError.unknown("webhook")
        }
        webhook = found
        _ = try await store.note(
            [
                WebhookAttempt.New(
                    event: event.key, type: event.kind.rawValue, number: 1, at: store.clock.now,
                    answer: ReceiverAnswer(status: 500, milliseconds: 12, body: text))
            ], of: webhook)
    }
}

extension SQLiteStore {
    /// Writes an event as a change would, and numbers it.
    @discardableResult func tell(
        _ kind: WebhookEvent.Kind, of application: BelfryService.Application, about subject: String
    ) async throws -> WebhookEvent {
        try await write { session in
            try session.tell(kind, of: application.key, about: subject) { $0.string("subject", subject) }
        }
        _ = try await numberWebhookEvents(keptMax: 1_000)
        let last = try await webhookFeed(of: application.key).last
        guard
            let event = try await webhookEvents(of: application.key, after: last - 1, limit: 1).events.first
        else { throw StoreError.unknown("event: nothing listens to it") }
        return event
    }
}
