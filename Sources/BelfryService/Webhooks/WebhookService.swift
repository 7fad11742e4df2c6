import FoundationEssentials

/// Makes and changes the webhooks of applications, and answers their feeds. Each change has its line in the audit log.
package struct WebhookService: Sendable {
    let store: any Store
    let vault: any Vault
    let poster: any WebhookPoster
    /// Closed when the node stops: readers that wait are answered.
    package let stop = WakeSignal()

    /// The most events that are sent again by their ids at once.
    package static let replayMax = 100

    /// Returns the secret too: it is shown once.
    ///
    /// - Parameter secret: nil for a random one.
    package func create(
        _ name: String, _ url: String, _ kinds: WebhookKinds, secret: WebhookSecret? = nil,
        of application: Application, by author: AuditAuthor
    ) async throws -> (webhook: Webhook, secret: WebhookSecret) {
        let checked = try WebhookEdit(name: name, url: url, kinds: kinds).checked(by: author)
        let (uuid, secret, name) = (UUID(), secret ?? WebhookSecret(), checked.name ?? name)
        let seal = try WebhookSeal(current: secret.text).sealed(by: vault, for: uuid)
        let line = AuditedChange(
            by: author, "webhook.create", application,
            ["webhook": uuid.lowercased, "name": name, "url": url, "kinds": kinds.names.joined(separator: ", ")])
        try await store.audited(line) {
            try await store.create(name, url, kinds, as: uuid, secrets: seal, for: application.key)
        }
        return (try await found(uuid, application), secret)
    }

    package func change(
        _ webhook: Webhook, _ edit: WebhookEdit, of application: Application, by author: AuditAuthor
    ) async throws -> Webhook {
        let edit = try edit.checked(by: author)
        let details = ["name": edit.name, "url": edit.url, "kinds": edit.kinds?.names.joined(separator: ", ")]
        try await audited("update", webhook, application, author, details.compactMapValues(\.self)) {
            try await store.change(webhook, edit)
        }
        return try await found(webhook.uuid, application)
    }

    package func delete(_ webhook: Webhook, of application: Application, by author: AuditAuthor) async throws {
        try await audited("delete", webhook, application, author) { try await store.delete(webhook) }
    }

    /// Replaces the secret; the former one signs as well for a while. Returns the new one, which is shown once.
    package func rotate(
        _ webhook: Webhook, to secret: WebhookSecret? = nil, overlap: Duration = Webhook.overlap,
        of application: Application, by author: AuditAuthor
    ) async throws -> (webhook: Webhook, secret: WebhookSecret) {
        guard .zero...Webhook.overlapMax ~= overlap else {
            throw InvalidInput(field: "overlap_seconds", "has to be 0 to \(Webhook.overlapMax.milliseconds / 1_000)")
        }
        let secret = secret ?? WebhookSecret()
        // Nothing signs by one that cannot be opened.
        let former = try? WebhookSeal(of: webhook, by: vault).current
        let seal = try WebhookSeal(current: secret.text, former: former).sealed(by: vault, for: webhook.uuid)
        let until = store.clock.now + (former == nil ? .zero : overlap)
        try await audited("rotate", webhook, application, author, ["former_until": until.text]) {
            guard try await store.setSecrets(of: webhook, to: seal, formerUntil: until) else { throw EditConflict() }
            return true
        }
        return (try await found(webhook.uuid, application), secret)
    }

    /// Sends a message `webhook.test` now, paused or not, and returns what came of it. It is in the log of deliveries too.
    package func test(
        _ webhook: Webhook, of application: Application, by author: AuditAuthor
    ) async throws -> ReceiverAnswer {
        let now = store.clock.now
        let answer = await poster.post(
            WebhookMessage(
                url: webhook.url, id: "test_\(UUID().lowercased)",
                body: WebhookEvent.message(Self.testType, at: now, of: application.uuid),
                secrets: try WebhookSeal(of: webhook, by: vault).signing(webhook, at: now), sentAt: now))
        try await audited("test", webhook, application, author) {
            let attempt = WebhookAttempt.New(event: nil, type: Self.testType, number: 1, at: now, answer: answer)
            guard try await store.note([attempt], of: webhook) else { throw Self.unknown }
            return true
        }
        return answer
    }

    package static let testType = "webhook.test"

    package func pause(
        _ webhook: Webhook, of application: Application, by author: AuditAuthor
    ) async throws -> Webhook {
        try await audited("pause", webhook, application, author) { try await store.set(.asked, on: webhook.key) }
        return try await found(webhook.uuid, application)
    }

    /// Ends a pause: what waits is sent at once.
    package func resume(
        _ webhook: Webhook, of application: Application, by author: AuditAuthor
    ) async throws -> Webhook {
        try await audited("resume", webhook, application, author) { try await store.set(nil, on: webhook.key) }
        return try await found(webhook.uuid, application)
    }

    /// Sends everything again that happened since then. Returns the number of events, those of other kinds included.
    package func replay(
        _ webhook: Webhook, since time: Instant, of application: Application, by author: AuditAuthor
    ) async throws -> Int64 {
        try await store.audited(line("replay", webhook, application, author, ["since": time.text])) {
            try await store.replay(webhook, since: time)
        }
    }

    /// Sends events again by their ids. Returns the number of those that are kept.
    package func replay(
        _ webhook: Webhook, _ events: [String], of application: Application, by author: AuditAuthor
    ) async throws -> Int {
        guard 1...Self.replayMax ~= events.count else {
            throw InvalidInput(field: "events", "has \(events.count) ids, 1 to \(Self.replayMax) are taken")
        }
        let keys = try events.map { id in
            guard let key = WebhookEvent.key(id) else {
                throw InvalidInput(field: "events", "'\(id.prefix(64))' is no id of an event, such as evt_17")
            }
            return key
        }
        return try await store.audited(
            line("replay", webhook, application, author, ["events": events.joined(separator: ", ")])
        ) { try await store.replay(webhook, keys) }
    }

    // MARK: The feed

    /// Sets which kinds of events are kept for the feed; none switches it off.
    package func setFeed(
        _ kinds: WebhookKinds, of application: Application, by author: AuditAuthor
    ) async throws {
        let names = kinds.names.joined(separator: ", ")
        try await store.audited(AuditedChange(by: author, "feed.update", application, ["kinds": names])) {
            try await store.setFeed(of: application.key, to: kinds)
        }
    }

    /// The events after a position, in order. Where there are none it waits for some, of other kinds too, but not for longer than the node
    /// goes on.
    ///
    /// - Parameters:
    ///   - kinds: nil for all that are kept.
    ///   - limit: of the events that are read; those of other kinds count.
    package func feed(
        of application: Key<Application>, after position: Int64, kinds: WebhookKinds? = nil, limit: Int,
        wait: Duration = .zero
    ) async throws -> WebhookFeedPage {
        let end = store.clock.now + min(wait, WebhookFeedPage.waitMax)
        var (position, dropped) = (position, Int64(0))
        while true {
            let found = try await store.webhookEvents(
                of: application, after: position, limit: min(limit, WebhookFeedPage.limitMax))
            dropped += found.dropped
            position = found.events.last?.position ?? position + found.dropped
            let events = kinds.map { kinds in found.events.filter { kinds.contains($0.kind) } } ?? found.events
            guard found.events.isEmpty, dropped == 0, store.clock.now < end, !stop.isClosed else {
                return WebhookFeedPage(dropped: dropped, events: events, next: position)
            }
            try await store.clock.sleep(for: Self.pollPause)
        }
    }

    private static let pollPause = Duration.milliseconds(500)

    // MARK: Parts

    private func found(_ uuid: UUID, _ application: Application) async throws -> Webhook {
        guard let webhook = try await store.webhook(uuid, of: application.key) else { throw Self.unknown }
        return webhook
    }

    private static let unknown = StoreError.unknown("such webhook")

    private func line(
        _ verb: String, _ webhook: Webhook, _ application: Application, _ author: AuditAuthor,
        _ details: [String: String] = [:]
    ) -> AuditedChange {
        AuditedChange(
            by: author, "webhook.\(verb)", application,
            details.merging(["webhook": webhook.uuid.lowercased]) { own, _ in own })
    }

    /// - Parameter change: false where there was nothing to change.
    private func audited(
        _ verb: String, _ webhook: Webhook, _ application: Application, _ author: AuditAuthor,
        _ details: [String: String] = [:], _ change: () async throws -> Bool
    ) async throws {
        try await store.audited(line(verb, webhook, application, author, details)) { _ = try await change() }
    }
}

/// The secrets of a webhook while they are open.
struct WebhookSeal {
    let current: String
    var former: String?

    init(current: String, former: String? = nil) { (self.current, self.former) = (current, former) }

    init(of webhook: Webhook, by vault: any Vault) throws {
        let text = String(
            decoding: try vault.open(webhook.secrets, for: VaultPurpose.webhook(webhook.uuid)), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        guard let first = lines.first else { throw StoreError.damaged("the secrets of webhook \(webhook.key)") }
        self.init(current: first, former: lines.dropFirst().first)
    }

    func sealed(by vault: any Vault, for webhook: UUID) throws -> Sealed {
        let text = [current, former].compactMap(\.self).joined(separator: "\n")
        return try vault.seal(Array(text.utf8), for: VaultPurpose.webhook(webhook))
    }

    /// The secrets that sign at a time, the newest first.
    func signing(_ webhook: Webhook, at now: Instant) -> [String] {
        guard let former, let until = webhook.formerUntil, now < until else { return [current] }
        return [current, former]
    }
}
