import FoundationEssentials

extension WebhookAttempt {
    /// An attempt that is not in the log yet.
    struct New: Sendable {
        let event: Key<WebhookEvent>?
        let type: String
        let number: Int
        let at: Instant
        let answer: WebhookAnswer
    }
}

extension Store {
    /// Adds attempts to the log of a webhook, and forgets its oldest.
    func note(_ attempts: [WebhookAttempt.New], of webhook: Key<Webhook>) async throws {
        try await write { try $0.note(attempts, of: webhook) }
    }
}

extension WriteSession {
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
