import FoundationEssentials

extension WebhookAttempt {
    /// An attempt that is not in the log yet.
    struct New: Sendable {
        let event: Key<WebhookEvent>?
        let type: String
        let number: Int
        let at: Instant
        let answer: ReceiverAnswer
    }
}

/// A receiver that a node may send to until its lease ends.
struct WebhookClaim: Sendable {
    let webhook: Key<Webhook>
    let lease: Int64
    let tenant: Key<Tenant>
    let isFailing: Bool
}

extension Store {
    /// Whether there are new events, or receivers that are due.
    func hasWebhookWork() async throws -> Bool {
        let now = clock.now
        return try await readCommitted { try $0.prepared(WebhookTurnStatements.hasWork).hasRow(now) }
    }

    /// Gives new events their positions, and wakes the receivers of their applications; of nodes that share a store one does so at a time.
    /// Returns whether there may be more.
    ///
    /// - Parameter keptMax: the most events of an application that are kept.
    func numberWebhookEvents(keptMax: Int64) async throws -> Bool {
        try await write { session in
            guard try session.prepared(WebhookTurnStatements.turn).first(as: { $0.bool(0) }) ?? false else {
                return false
            }
            let new = try session.prepared(WebhookTurnStatements.unnumbered).all(Self.numberedMax) { row in
                (key: Key<WebhookEvent>(row.integer(0)), application: Key<Application>(row.integer(1)))
            }
            for (application, events) in Dictionary(grouping: new, by: \.application).sorted(by: { $0.key < $1.key }) {
                try session.number(events.map(\.key), of: application, keptMax: keptMax)
            }
            return new.count == Self.numberedMax
        }
    }

    private static var numberedMax: Int { 200 }

    /// Leases receivers that are due, those that have waited longest first.
    func claimWebhooks(within budget: WebhookBudget, until end: Instant) async throws -> [WebhookClaim] {
        try await write { session in
            var budget = budget
            var chosen: [Key<Webhook>: (tenant: Key<Tenant>, isFailing: Bool)] = [:]
            for isFailing in [false, true] {
                try session.prepared(WebhookTurnStatements.due).each(
                    session.now, SQLKeys(budget.fullTenants(isFailing: isFailing)), budget.room(isFailing: isFailing),
                    isFailing
                ) { row in
                    let tenant = Key<Tenant>(row.integer(1))
                    guard budget.room(of: tenant, isFailing: isFailing) > 0 else { return }
                    budget.add(1, of: tenant, isFailing: isFailing)
                    chosen[Key(row.integer(0))] = (tenant, isFailing)
                }
            }
            guard !chosen.isEmpty else { return [] }
            return try session.prepared(WebhookTurnStatements.lease).all(end, SQLKeys(chosen.keys.sorted())) { row in
                let key = Key<Webhook>(row.integer(0))
                return chosen[key].map {
                    WebhookClaim(webhook: key, lease: row.integer(1), tenant: $0.tenant, isFailing: $0.isFailing)
                }
            }.compactMap(\.self)
        }
    }

    /// The turn of a receiver; nil where the lease was lost.
    func webhookTurn(_ claim: WebhookClaim) async throws -> WebhookTurn? {
        let now = clock.now
        return try await read { db in
            guard let webhook = try db.prepared(WebhookStatements.byKey).first(claim.webhook, as: Webhook.init),
                webhook.lease == claim.lease
            else { return nil }
            let retries = try db.prepared(WebhookTurnStatements.retries).all(claim.webhook) { row in
                WebhookRetry(
                    position: row.integer(0), subject: row.text(1), attempts: Int(row.integer(2)),
                    dueAt: Instant(milliseconds: row.integer(3)))
            }
            let due = WebhookTurn.duePositions(retries, isProbing: webhook.isProbed, at: now)
            let kept = try db.prepared(WebhookTurnStatements.events).all(
                webhook.applicationKey, SQLKeys(due), as: WebhookEvent.init)
            let room = min(WebhookTurn.eventsMax - due.count, Webhook.retriesMax - retries.count)
            let new =
                room > 0
                ? try db.prepared(WebhookStatements.events).all(
                    webhook.applicationKey, webhook.position, room, as: WebhookEvent.init) : []
            let first = try db.firstWebhookEvent(of: webhook.applicationKey)
            return WebhookTurn(
                webhook, retries: retries, kept: Dictionary(uniqueKeysWithValues: kept.map { ($0.position, $0) }),
                new: new, dropped: max(0, first - 1 - webhook.position), at: now)
        }
    }

    /// Writes down what came of a turn, unless its lease was lost.
    ///
    /// - Parameter line: for the audit log, where the receiver is paused.
    func settle(_ result: WebhookTurn.Result, of webhook: Webhook, pausing line: AuditedChange) async throws {
        try await write { session in
            let last = try session.prepared(WebhookStatements.holdFeed).number(webhook.applicationKey) ?? 0
            let isMore = result.takesMore && last > result.position
            let dueAt = result.hasRecovered || isMore ? session.now : result.retryAt
            let isHeld =
                try session.prepared(WebhookTurnStatements.settle).run(
                    result.position, result.dropped, result.failingSince, dueAt, webhook.key, webhook.lease) > 0
            guard isHeld else { return }
            try session.prepared(WebhookTurnStatements.deleteRetries).send(webhook.key, SQLKeys(result.deleted))
            let write = try session.prepared(WebhookTurnStatements.writeRetry)
            for retry in result.written {
                try write.send(webhook.key, retry.position, retry.subject, retry.attempts, retry.dueAt)
            }
            if result.hasRecovered { try session.retryNow(webhook.key) }
            try session.note(result.attempts, of: webhook.key)
            if let pause = result.pause,
                try session.prepared(WebhookStatements.pause).run(pause.rawValue, webhook.key) > 0
            {
                try PendingAuditEntry(line).write(in: session)
            }
            session.effects.due.insert(.webhooks)
        }
    }

    /// Adds attempts to the log of a webhook, and forgets its oldest. False where there is no such webhook.
    func note(_ attempts: [WebhookAttempt.New], of webhook: Webhook) async throws -> Bool {
        try await writeIfFound { session in
            try session.holdFeed(of: webhook.applicationKey)
            guard try session.prepared(WebhookStatements.byKey).hasRow(webhook.key) else { return false }
            try session.note(attempts, of: webhook.key)
            return true
        }
    }
}

extension WriteSession {
    fileprivate func number(
        _ events: [Key<WebhookEvent>], of application: Key<Application>, keptMax: Int64
    ) throws {
        guard let last = try prepared(WebhookTurnStatements.raise).number(application, events.count) else { return }
        let first = last - Int64(events.count) + 1
        try prepared(WebhookTurnStatements.number).sendEach(Array(first...last), events)
        try prepared(WebhookTurnStatements.wake).send(now, application)
        if last > keptMax {
            try prepared(WebhookTurnStatements.deleteOldest).send(application, last - keptMax, events.count * 2)
        }
        effects.due.insert(.webhooks)
    }

    fileprivate func note(_ attempts: [WebhookAttempt.New], of webhook: Key<Webhook>) throws {
        let insert = try prepared(WebhookTurnStatements.addAttempt)
        for attempt in attempts {
            let answer = attempt.answer
            try insert.send(
                webhook, attempt.event, attempt.type, attempt.number, attempt.at, answer.status, answer.fault,
                answer.milliseconds, answer.body, attempt.at + WebhookAttempt.lifetime)
        }
        try prepared(WebhookTurnStatements.forgetAttempts).send(webhook, attempts.count * 2, WebhookAttempt.keptMax)
    }
}

enum WebhookTurnStatements {
    static let addEvent: SQLText = """
        INSERT INTO webhook_event /* webhook_turns.add_event */ (
            application_id, kind, subject, data, created_at_ms, expires_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
        """

    /// Reads the first entries of `webhook_event_new` and `webhook_due`.
    static let hasWork: SQLText = """
        SELECT 1 /* webhook_turns.has_work */
         WHERE (SELECT min(id) FROM webhook_event WHERE position IS NULL) IS NOT NULL
            OR (SELECT min(due_at_ms) FROM webhook WHERE paused IS NULL AND due_at_ms IS NOT NULL) <= $1
        """

    /// Whether this node may number events now. The lock ends with the transaction.
    static let turn: SQLText = """
        SELECT \(sqlite: "1", postgres: "pg_try_advisory_xact_lock(7236828800)") /* webhook_turns.turn */
        """

    /// Scans `webhook_event_new`. Rows of one subject are committed in the order of their keys; others need none.
    static let unnumbered: SQLText = """
        SELECT id, application_id /* webhook_turns.unnumbered */ FROM webhook_event
         WHERE position IS NULL
         ORDER BY id
         LIMIT $1
        """

    static let raise: SQLText = """
        INSERT INTO webhook_feed /* webhook_turns.raise */ (application_id, position) VALUES ($1, $2)
            ON CONFLICT (application_id) DO UPDATE SET position = webhook_feed.position + excluded.position
        RETURNING position
        """

    static let number: SQLText = """
        UPDATE webhook_event /* webhook_turns.number */
           SET \(
            sqlite: "position = $1 WHERE id = $2",
            postgres: "position = numbered.position FROM unnest($1, $2) AS numbered (position, id) WHERE webhook_event.id = numbered.id")
        """

    /// Receivers that wait for nothing, or for the retry of an event: not those that fail. One that is leased looks for more when its turn
    /// ends.
    static let wake: SQLText = """
        UPDATE webhook /* webhook_turns.wake */ SET due_at_ms = $1
         WHERE application_id = $2 AND (due_at_ms IS NULL OR due_at_ms > $1 AND failing_since_ms IS NULL)
        """

    static let deleteOldest: SQLText = """
        DELETE FROM webhook_event /* webhook_turns.delete_oldest */
         WHERE id IN (
            SELECT id FROM webhook_event WHERE application_id = $1 AND position <= $2 ORDER BY position LIMIT $3)
        """

    /// Scans `webhook_due`.
    static let due: SQLText = """
        SELECT id, (SELECT tenant_id FROM application WHERE application.id = application_id) /* webhook_turns.due */
          FROM webhook
         WHERE paused IS NULL AND due_at_ms <= $1 AND (leased_until_ms IS NULL OR leased_until_ms <= $1)
           AND NOT (SELECT tenant_id FROM application WHERE application.id = application_id) \(among: "$2")
           AND (failing_since_ms IS NOT NULL) = $4
         ORDER BY due_at_ms
         LIMIT $3
         \(SQLText.forUpdateSkipLocked)
        """

    static let lease: SQLText = """
        UPDATE webhook /* webhook_turns.lease */ SET leased_until_ms = $1, lease = lease + 1 WHERE id \(among: "$2")
        RETURNING id, lease
        """

    /// Scans the primary key.
    static let retries: SQLText = """
        SELECT position, subject, attempts, due_at_ms /* webhook_turns.retries */ FROM webhook_retry
         WHERE webhook_id = $1
         ORDER BY position
        """

    static let events: SQLText = """
        SELECT \(WebhookStatements.eventColumns) /* webhook_turns.events */ FROM webhook_event
         WHERE application_id = $1 AND position \(among: "$2")
        """

    static let settle: SQLText = """
        UPDATE webhook /* webhook_turns.settle */
           SET position = $1, dropped = dropped + $2, failing_since_ms = $3, due_at_ms = $4,
               leased_until_ms = NULL, lease = lease + 1
         WHERE id = $5 AND lease = $6
        """

    static let deleteRetries: SQLText = """
        DELETE FROM webhook_retry /* webhook_turns.delete_retries */ WHERE webhook_id = $1 AND position \(among: "$2")
        """

    static let writeRetry: SQLText = """
        INSERT INTO webhook_retry /* webhook_turns.write_retry */ (webhook_id, position, subject, attempts, due_at_ms)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (webhook_id, position) DO UPDATE SET attempts = excluded.attempts, due_at_ms = excluded.due_at_ms
        """

    static let addAttempt: SQLText = """
        INSERT INTO webhook_attempt /* webhook_turns.add_attempt */ (
            webhook_id, event_id, type, number, at_ms, status, fault, milliseconds, answer, expires_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """

    /// Scans `webhook_attempt_webhook`.
    static let forgetAttempts: SQLText = """
        DELETE FROM webhook_attempt /* webhook_turns.forget_attempts */
         WHERE id IN (SELECT id FROM webhook_attempt WHERE webhook_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3)
        """
}
