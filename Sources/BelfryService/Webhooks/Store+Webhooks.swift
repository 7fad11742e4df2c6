package import FoundationEssentials

extension Store {
    /// The webhooks of an application, in the order in which they were made.
    package func webhooks(of application: Key<Application>) async throws -> [Webhook] {
        try await readCommitted { db in
            try db.prepared(WebhookStatements.ofApplication).all(
                application, Webhook.perApplicationMax, as: Webhook.init)
        }
    }

    package func webhook(_ uuid: UUID, of application: Key<Application>) async throws -> Webhook? {
        try await readCommitted { db in
            try db.prepared(WebhookStatements.byUUID).first(uuid, application, as: Webhook.init)
        }
    }

    /// It gets what happens from now on. Throws `StoreError` where the application has as many as it may have.
    func create(
        _ name: String, _ url: String, _ kinds: WebhookKinds, as uuid: UUID, secrets: Sealed,
        for application: Key<Application>
    ) async throws {
        try await write { session in
            try session.holdFeed(of: application)
            let count = try session.prepared(WebhookStatements.count).count(application)
            guard count < Webhook.perApplicationMax else {
                throw StoreError.conflict("the application has \(count) webhooks, which is the limit")
            }
            try session.prepared(WebhookStatements.insert).send(
                uuid, application, name, url, kinds.bits, secrets.bytes, session.now)
            try session.noteWanted(of: application)
        }
    }

    /// A new address is tried at once. False where there is no such webhook.
    func change(_ webhook: Webhook, _ edit: WebhookEdit) async throws -> Bool {
        try await writeIfFound { session in
            try session.holdFeed(of: webhook.applicationKey)
            guard
                try session.prepared(WebhookStatements.update).run(
                    edit.name, edit.url, edit.kinds?.bits, session.now, webhook.key) > 0
            else { return false }
            if edit.url != nil { try session.retryNow(webhook.key) }
            try session.noteWanted(of: webhook.applicationKey)
            return true
        }
    }

    func setSecrets(of webhook: Webhook, to secrets: Sealed, formerUntil: Instant?) async throws -> Bool {
        try await writeIfFound { session in
            try session.prepared(WebhookStatements.setSecrets).run(
                secrets.bytes, formerUntil, webhook.key, webhook.secrets.bytes) > 0
        }
    }

    func delete(_ webhook: Webhook) async throws -> Bool {
        try await writeIfFound { session in
            try session.holdFeed(of: webhook.applicationKey)
            guard try session.prepared(WebhookStatements.delete).run(webhook.key) > 0 else { return false }
            try session.noteWanted(of: webhook.applicationKey)
            return true
        }
    }

    /// Pauses a webhook; nil resumes it, and makes all due that waits. False where that is so already.
    func set(_ pause: Webhook.Pause?, on webhook: Key<Webhook>) async throws -> Bool {
        try await writeIfFound { session in
            if let pause { return try session.prepared(WebhookStatements.pause).run(pause.rawValue, webhook) > 0 }
            guard try session.prepared(WebhookStatements.resume).run(session.now, webhook) > 0 else { return false }
            try session.retryNow(webhook)
            return true
        }
    }

    /// Sends everything again that happened since then; returns the number of events.
    func replay(_ webhook: Webhook, since time: Instant) async throws -> Int64 {
        try await write { session in
            let last = try session.holdFeed(of: webhook.applicationKey)
            let first = try session.firstPosition(of: webhook.applicationKey, since: time, last: last)
            try session.prepared(WebhookStatements.rewind).send(first - 1, session.now, webhook.key)
            try session.prepared(WebhookStatements.forgetRetries).send(webhook.key, first - 1)
            return last - first + 1
        }
    }

    /// Sends events again, those of its kinds that are kept; returns their number. Those that wait are left as they are.
    ///
    /// - Parameter events: at most `WebhookService.replayMax`.
    func replay(_ webhook: Webhook, _ events: [Key<WebhookEvent>]) async throws -> Int {
        try await write { session in
            try session.holdFeed(of: webhook.applicationKey)
            let waiting = try session.prepared(WebhookStatements.countRetries).count(webhook.key)
            guard waiting + events.count <= Webhook.retriesMax else {
                throw StoreError.conflict("\(waiting) events wait for a retry already: let them go first")
            }
            let added = try session.prepared(WebhookStatements.replay).run(
                webhook.key, SQLKeys(events), session.now, webhook.applicationKey,
                ",\(webhook.kinds.names.joined(separator: ",")),")
            try session.prepared(WebhookStatements.wake).send(session.now, webhook.key)
            return added
        }
    }

    /// The newest first.
    package func attempts(
        of webhook: Key<Webhook>, before key: Key<WebhookAttempt>? = nil, limit: Int
    ) async throws -> [WebhookAttempt] {
        try await readCommitted { db in
            try db.prepared(WebhookStatements.attempts).all(webhook, key ?? Key(.max), limit, as: WebhookAttempt.init)
        }
    }

    package func webhookEvent(
        _ key: Key<WebhookEvent>, of application: Key<Application>
    ) async throws -> WebhookEvent? {
        try await readCommitted { db in
            try db.prepared(WebhookStatements.event).first(key, application, as: WebhookEvent.init)
        }
    }

    /// The events after a position, in order; and how many there were that are no longer kept.
    func webhookEvents(
        of application: Key<Application>, after position: Int64, limit: Int
    ) async throws -> (dropped: Int64, events: [WebhookEvent]) {
        try await read { db in
            let first = try db.firstWebhookEvent(of: application)
            let events = try db.prepared(WebhookStatements.events).all(
                application, position, limit, as: WebhookEvent.init)
            return (max(0, first - 1 - position), events)
        }
    }

    /// The kinds of the application's feed, the position of the oldest event that is kept, and that of the newest.
    package func webhookFeed(
        of application: Key<Application>
    ) async throws -> (kinds: WebhookKinds, first: Int64, last: Int64) {
        try await read { db in
            let first = try db.firstWebhookEvent(of: application)
            return try db.prepared(WebhookStatements.feed).first(application) { row in
                (kinds: WebhookKinds(bits: row.integer(0)), first: first, last: row.integer(1))
            } ?? (kinds: [], first: first, last: 0)
        }
    }

    func setFeed(of application: Key<Application>, to kinds: WebhookKinds) async throws {
        try await write { session in
            try session.holdFeed(of: application)
            try session.prepared(WebhookStatements.setFeed).send(kinds.bits, application)
            try session.noteWanted(of: application)
        }
    }
}

extension Webhook {
    /// The most events of a webhook that wait for a retry, or behind one.
    package static let retriesMax = 1_000
}

extension SQLConnection {
    /// The position of the oldest event that is kept; that of the next event where none is.
    func firstWebhookEvent(of application: Key<Application>) throws -> Int64 {
        try prepared(WebhookStatements.first).number(application)
            ?? (try prepared(WebhookStatements.feed).first(application) { $0.integer(1) } ?? 0) + 1
    }
}

extension WriteSession {
    /// Makes the row of the application's feed where it has none, and locks it; returns the position of the newest event. Changes of an
    /// application's webhooks wait for one another, and for the numbering of its events.
    @discardableResult
    func holdFeed(of application: Key<Application>) throws -> Int64 {
        try check(application)
        try prepared(WebhookStatements.makeFeed).send(application)
        return try prepared(WebhookStatements.holdFeed).number(application) ?? 0
    }

    /// Writes down which kinds anything of the application listens to.
    fileprivate func noteWanted(of application: Key<Application>) throws {
        var wanted = try prepared(WebhookStatements.feed).first(application) { $0.integer(0) } ?? 0
        try prepared(WebhookStatements.kinds).each(application) { wanted |= $0.integer(0) }
        try prepared(WebhookStatements.setWanted).run(wanted, application)
        effects.wanted[application] = WebhookKinds(bits: wanted)
    }

    func retryNow(_ webhook: Key<Webhook>) throws {
        try prepared(WebhookStatements.retryNow).send(now, webhook)
        effects.due.insert(.webhooks)
    }

    /// The position of the first event since a time, found by halving: positions follow the times, but for events that were written
    /// together.
    fileprivate func firstPosition(of application: Key<Application>, since time: Instant, last: Int64) throws -> Int64 {
        var (low, high) = (try db.firstWebhookEvent(of: application), last + 1)
        let createdAt = try prepared(WebhookStatements.createdAt)
        while low < high {
            let middle = low + (high - low) / 2
            if let found = try createdAt.number(application, middle), found >= time.milliseconds {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}

extension Webhook {
    /// From the columns of `WebhookStatements.columns`.
    init(_ row: some SQLRow) throws {
        guard let uuid = row.uuid(1) else { throw StoreError.damaged("webhook \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, applicationKey: Key(row.integer(2)), name: row.text(3),
            url: row.text(4), kinds: WebhookKinds(bits: row.integer(5)), secrets: Sealed(bytes: row.blob(6)),
            formerUntil: row.instantIfAny(7), position: row.integer(8),
            paused: row.textIfAny(9).flatMap(Pause.init(rawValue:)), failingSince: row.instantIfAny(10),
            dueAt: row.instantIfAny(11), lease: row.integer(12), dropped: row.integer(13),
            createdAt: Instant(milliseconds: row.integer(14)), pending: row.integer(15), retries: Int(row.integer(16)))
    }
}

extension WebhookEvent {
    /// From the columns of `WebhookStatements.events`.
    init(_ row: some SQLRow) throws {
        guard let kind = Kind(rawValue: row.text(2)) else {
            throw StoreError.damaged("webhook event \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), kind: kind, subject: row.text(3),
            data: row.text(4), createdAt: Instant(milliseconds: row.integer(5)), position: row.integer(6))
    }
}

extension WebhookAttempt {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), event: row.integerIfAny(1).map { Key($0) }, type: row.text(2),
            number: Int(row.integer(3)), at: Instant(milliseconds: row.integer(4)),
            answer: ReceiverAnswer(
                status: row.integerIfAny(5).map { Int($0) }, fault: row.textIfAny(6), milliseconds: Int(row.integer(7)),
                body: row.text(8)))
    }
}

enum WebhookStatements {
    static let columns = """
        webhook.id, uuid, webhook.application_id, name, url, webhook.kinds, secrets, former_until_ms, webhook.position, paused,
               failing_since_ms, due_at_ms, lease, dropped, created_at_ms, webhook_feed.position - webhook.position,
               (SELECT count(*) FROM webhook_retry WHERE webhook_id = webhook.id)
        """

    private static let joined = "webhook JOIN webhook_feed ON webhook_feed.application_id = webhook.application_id"

    /// Scans `webhook_application`.
    static let ofApplication: SQLText = """
        SELECT \(columns) /* webhooks.of_application */ FROM \(joined)
         WHERE webhook.application_id = $1
         ORDER BY webhook.id
         LIMIT $2
        """

    static let byUUID: SQLText = """
        SELECT \(columns) /* webhooks.by_uuid */ FROM \(joined) WHERE uuid = $1 AND webhook.application_id = $2
        """

    static let byKey: SQLText = "SELECT \(columns) /* webhooks.by_key */ FROM \(joined) WHERE webhook.id = $1"

    static let count: SQLText = "SELECT count(*) /* webhooks.count */ FROM webhook WHERE application_id = $1"

    static let insert: SQLText = """
        INSERT INTO webhook /* webhooks.insert */ (uuid, application_id, name, url, kinds, secrets, created_at_ms, position)
        SELECT $1, application_id, $3, $4, $5, $6, $7, position FROM webhook_feed WHERE application_id = $2
        """

    /// A change of the address counts as a new lease: what is under way to the former one is sent again.
    static let update: SQLText = """
        UPDATE webhook /* webhooks.update */
           SET name = coalesce($1, name), url = coalesce($2, url), kinds = coalesce($3, kinds),
               lease = lease + 1, leased_until_ms = NULL, due_at_ms = $4
         WHERE id = $5
        """

    static let setSecrets: SQLText = """
        UPDATE webhook /* webhooks.set_secrets */ SET secrets = $1, former_until_ms = $2 WHERE id = $3 AND secrets = $4
        """

    static let delete: SQLText = "DELETE FROM webhook /* webhooks.delete */ WHERE id = $1"

    static let pause: SQLText = """
        UPDATE webhook /* webhooks.pause */ SET paused = $1 WHERE id = $2 AND paused IS NULL
        """

    static let resume: SQLText = """
        UPDATE webhook /* webhooks.resume */ SET paused = NULL, failing_since_ms = NULL, due_at_ms = $1
         WHERE id = $2 AND paused IS NOT NULL
        """

    /// Events that a worker is sending meanwhile are not noted as sent.
    static let rewind: SQLText = """
        UPDATE webhook /* webhooks.rewind */ SET position = \(SQLText.least)(position, $1), lease = lease + 1,
               leased_until_ms = NULL, due_at_ms = $2
         WHERE id = $3
        """

    static let wake: SQLText = """
        UPDATE webhook /* webhooks.wake */ SET lease = lease + 1, leased_until_ms = NULL, due_at_ms = $1 WHERE id = $2
        """

    /// Scans the primary key.
    static let forgetRetries: SQLText = """
        DELETE FROM webhook_retry /* webhooks.forget_retries */ WHERE webhook_id = $1 AND position > $2
        """

    static let countRetries: SQLText = """
        SELECT count(*) /* webhooks.count_retries */ FROM webhook_retry WHERE webhook_id = $1
        """

    static let retryNow: SQLText = """
        UPDATE webhook_retry /* webhooks.retry_now */ SET due_at_ms = $1 WHERE webhook_id = $2
        """

    /// Events after the webhook's position come by themselves. Looks each up in the primary key.
    static let replay: SQLText = """
        INSERT INTO webhook_retry /* webhooks.replay */ (webhook_id, position, subject, attempts, due_at_ms)
        SELECT webhook.id, webhook_event.position, subject, 0, $3
          FROM webhook_event JOIN webhook ON webhook.id = $1 AND webhook_event.position + 0 <= webhook.position
         WHERE webhook_event.id \(among: "$2") AND webhook_event.application_id + 0 = $4 AND $5 LIKE '%,' || kind || ',%'
            ON CONFLICT (webhook_id, position) DO NOTHING
        """

    /// Scans `webhook_attempt_webhook` backwards.
    static let attempts: SQLText = """
        SELECT id, event_id, type, number, at_ms, status, fault, milliseconds, answer /* webhooks.attempts */
          FROM webhook_attempt
         WHERE webhook_id = $1 AND id < $2
         ORDER BY id DESC
         LIMIT $3
        """

    static let eventColumns = "id, application_id, kind, subject, data, created_at_ms, position"

    static let event: SQLText = """
        SELECT \(eventColumns) /* webhooks.event */ FROM webhook_event
         WHERE id = $1 AND application_id = $2 AND position IS NOT NULL
        """

    /// Scans `webhook_event_position`.
    static let events: SQLText = """
        SELECT \(eventColumns) /* webhooks.events */ FROM webhook_event
         WHERE application_id = $1 AND position > $2
         ORDER BY position
         LIMIT $3
        """

    /// Reads the first entry of `webhook_event_position`.
    static let first: SQLText = """
        SELECT position /* webhooks.first */ FROM webhook_event
         WHERE application_id = $1 AND position > 0
         ORDER BY position
         LIMIT 1
        """

    static let createdAt: SQLText = """
        SELECT created_at_ms /* webhooks.created_at */ FROM webhook_event WHERE application_id = $1 AND position = $2
        """

    static let makeFeed: SQLText = """
        INSERT INTO webhook_feed /* webhooks.make_feed */ (application_id) VALUES ($1) ON CONFLICT (application_id) DO NOTHING
        """

    static let holdFeed: SQLText = """
        SELECT position /* webhooks.hold_feed */ FROM webhook_feed WHERE application_id = $1 \(SQLText.forNoKeyUpdate)
        """

    static let feed: SQLText = """
        SELECT kinds, position /* webhooks.feed */ FROM webhook_feed WHERE application_id = $1
        """

    static let setFeed: SQLText = "UPDATE webhook_feed /* webhooks.set_feed */ SET kinds = $1 WHERE application_id = $2"

    static let kinds: SQLText = "SELECT kinds /* webhooks.kinds */ FROM webhook WHERE application_id = $1"

    static let setWanted: SQLText = """
        UPDATE webhook_feed /* webhooks.set_wanted */ SET wanted = $1 WHERE application_id = $2
        """

    static let wanted: SQLText = """
        SELECT application_id, wanted /* webhooks.wanted */ FROM webhook_feed WHERE wanted > 0
        """
}

/// Events for systems beside the server, and those that they are posted to.
enum WebhookMigration: SchemaMigration {
    static let identifier = "0027 webhooks (additive)"
    static let tables = [
        StoreTable("webhook_feed", rows: .perRow("application", 1), key: "application_id", of: .application),
        StoreTable(
            "webhook_event", rows: .perRow("application", 1_000_000), of: .application,
            expiry: .init(.webhooks, "expires_at_ms")),
        StoreTable("webhook", rows: .perRow("application", Webhook.perApplicationMax), of: .application),
        StoreTable("webhook_retry", rows: .perRow("webhook", Webhook.retriesMax), key: "webhook_id, position"),
        StoreTable(
            "webhook_attempt", rows: .perRow("webhook", WebhookAttempt.keptMax),
            expiry: .init(.webhooks, "expires_at_ms"), isCopied: false),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `kinds`: of the feed that is fetched. `wanted`: those, and those of all webhooks. `position`: of the newest event.
                CREATE TABLE webhook_feed (
                    application_id \(.bigint) PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
                    kinds \(.bigint) NOT NULL DEFAULT 0,
                    wanted \(.bigint) NOT NULL DEFAULT 0,
                    position \(.bigint) NOT NULL DEFAULT 0
                ) \(.byID);
                CREATE INDEX webhook_feed_wanted ON webhook_feed (application_id) WHERE wanted > 0;

                -- See `WebhookEvent`. `position`: NULL until it is numbered.
                CREATE TABLE webhook_event (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    kind text NOT NULL,
                    subject text NOT NULL,
                    data text NOT NULL,
                    created_at_ms \(.bigint) NOT NULL,
                    expires_at_ms \(.bigint) NOT NULL,
                    position \(.bigint) CHECK (position > 0)
                ) \(.byID);
                CREATE UNIQUE INDEX webhook_event_position ON webhook_event (application_id, position);
                CREATE INDEX webhook_event_new ON webhook_event (id) WHERE position IS NULL;
                CREATE INDEX webhook_event_expiry ON webhook_event (expires_at_ms);

                -- See `Webhook`. `due_at_ms`: NULL where nothing is to be sent. `lease`: the number of the last one.
                CREATE TABLE webhook (
                    id \(.key),
                    \(uuid: "uuid", "NOT NULL UNIQUE"),
                    application_id \(.bigint) NOT NULL REFERENCES webhook_feed (application_id) ON DELETE CASCADE,
                    name text NOT NULL,
                    url text NOT NULL,
                    kinds \(.bigint) NOT NULL CHECK (kinds > 0),
                    secrets \(.bytes) NOT NULL,
                    former_until_ms \(.bigint),
                    position \(.bigint) NOT NULL,
                    paused text CHECK (paused IN ('asked', 'failing', 'gone')),
                    failing_since_ms \(.bigint),
                    due_at_ms \(.bigint),
                    lease \(.bigint) NOT NULL DEFAULT 0,
                    leased_until_ms \(.bigint),
                    dropped \(.bigint) NOT NULL DEFAULT 0,
                    created_at_ms \(.bigint) NOT NULL
                ) \(.byID);
                CREATE INDEX webhook_application ON webhook (application_id\(postgres: ", id"));
                CREATE INDEX webhook_due ON webhook (due_at_ms) WHERE paused IS NULL AND due_at_ms IS NOT NULL;

                -- Events that a receiver refused, and those behind them that have the same subject.
                CREATE TABLE webhook_retry (
                    webhook_id \(.bigint) NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
                    position \(.bigint) NOT NULL,
                    subject text NOT NULL,
                    attempts \(.bigint) NOT NULL,
                    due_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (webhook_id, position)
                ) \(.byKey);

                -- See `WebhookAttempt`.
                CREATE TABLE webhook_attempt (
                    id \(.key),
                    webhook_id \(.bigint) NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
                    event_id \(.bigint),
                    type text NOT NULL,
                    number \(.bigint) NOT NULL,
                    at_ms \(.bigint) NOT NULL,
                    status \(.bigint),
                    fault text,
                    milliseconds \(.bigint) NOT NULL,
                    answer text NOT NULL,
                    expires_at_ms \(.bigint) NOT NULL,
                    CHECK ((status IS NULL) <> (fault IS NULL))
                ) \(.byID);
                CREATE INDEX webhook_attempt_webhook ON webhook_attempt (webhook_id\(postgres: ", id"));
                CREATE INDEX webhook_attempt_expiry ON webhook_attempt (expires_at_ms);

                -- When an event last said that the credentials expire.
                ALTER TABLE platform ADD COLUMN expiry_told_at_ms \(.bigint);
                """)
    }
}
