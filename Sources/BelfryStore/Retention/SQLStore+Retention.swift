import BelfryCore

extension SQLStore {
    package func forget(_ kind: Retention.Kind, before: Instant) async throws -> Forgotten {
        try await write { session in
            guard try session.prepared(RetentionStatements.turn).first(as: { $0.bool(0) }) ?? false else {
                return Forgotten()
            }
            return switch kind {
            case .answers: try session.forgetAnswers(before: before)
            case .pushes: try session.forgetPushes(before: before)
            case .audit: try session.forgetAudit(before: before)
            case .idempotency: try session.forgetRecords(until: before)
            }
        }
    }
}

extension WriteSession {
    /// Push by push, in the order in which they were settled.
    fileprivate func forgetAnswers(before: Instant) throws -> Forgotten {
        let pushes = try prepared(RetentionStatements.withAnswers).all(before, Forgotten.pushesMax) {
            Key<Push>($0.integer(0))
        }
        var rows = 0
        for push in pushes {
            rows += try prepared(RetentionStatements.forgetBatches).run(push, Forgotten.rowsMax - rows)
            guard rows < Forgotten.rowsMax else { return Forgotten(rows: rows, isMore: true) }
            try prepared(RetentionStatements.noteNoAnswers).send(push)
        }
        return Forgotten(rows: rows, isMore: pushes.count == Forgotten.pushesMax)
    }

    fileprivate func forgetPushes(before: Instant) throws -> Forgotten {
        let pushes = try prepared(RetentionStatements.withoutAnswers).all(before, Forgotten.pushesMax) {
            Key<Push>($0.integer(0))
        }
        for sql in RetentionStatements.ofPushes { try prepared(sql).send(SQLKeys(pushes)) }
        try prepared(RetentionStatements.forgetPushes).each(SQLKeys(pushes)) { row in
            note(-Int(row.integer(1)), .content, of: Key(row.integer(0)))
        }
        return Forgotten(rows: pushes.count, isMore: pushes.count == Forgotten.pushesMax)
    }

    fileprivate func forgetAudit(before: Instant) throws -> Forgotten {
        try prepared(RetentionStatements.raiseHorizon).run(before)
        let rows = try prepared(RetentionStatements.forgetAudit).run(before, Forgotten.rowsMax)
        return Forgotten(rows: rows, isMore: rows == Forgotten.rowsMax)
    }

    fileprivate func forgetRecords(until: Instant) throws -> Forgotten {
        let rows = try clearIdempotency(until: until, atMost: Forgotten.rowsMax)
        return Forgotten(rows: rows, isMore: rows == Forgotten.rowsMax)
    }
}

enum RetentionStatements {
    /// Whether this node may delete now. The lock ends with the transaction.
    static let turn: SQLText = """
        SELECT \(sqlite: "1", postgres: "pg_try_advisory_xact_lock(7236828796)") /* retention.turn */
        """

    /// Scans `push_progress_settled`.
    static let withAnswers: SQLText = """
        SELECT push_id /* retention.with_answers */ FROM push_progress
         WHERE has_answers = true AND settled_at_ms < $1
         ORDER BY settled_at_ms
         LIMIT $2
        """

    /// Scans `push_progress_settled`.
    static let withoutAnswers: SQLText = """
        SELECT push_id /* retention.without_answers */ FROM push_progress
         WHERE has_answers = false AND settled_at_ms < $1
         ORDER BY settled_at_ms
         LIMIT $2
        """

    /// Scans `batch_device`.
    static let forgetBatches = SQLText.deleteSome(
        "retention.forget_batches", from: "batch", key: "id", where: "push_id = $1")

    static let noteNoAnswers: SQLText = """
        UPDATE push_progress /* retention.note_no_answers */ SET has_answers = false WHERE push_id = $1
        """

    /// The rows that refer to pushes.
    static let ofPushes: [SQLText] = [
        "DELETE FROM push_count /* retention.forget_push_counts */ WHERE push_id \(among: "$1")",
        "DELETE FROM tally /* retention.forget_tallies */ WHERE push_id \(among: "$1")",
        "DELETE FROM push_progress /* retention.forget_progress */ WHERE push_id \(among: "$1")",
    ]

    static let forgetPushes: SQLText = """
        DELETE FROM push /* retention.forget_pushes */ WHERE id \(among: "$1")
        RETURNING application_id, \(bytesOf: "content") + \(bytesOf: "audience")
        """

    static let raiseHorizon: SQLText = """
        INSERT INTO audit_horizon /* retention.raise_horizon */ (id, at_ms) VALUES (1, $1)
            ON CONFLICT (id) DO UPDATE SET at_ms = \(SQLText.greatest)(audit_horizon.at_ms, excluded.at_ms)
        """

    /// Scans `audit_at`.
    static let forgetAudit = SQLText.deleteSome(
        "retention.forget_audit", from: "audit", key: "id", where: "at_ms < $1 ORDER BY at_ms")
}
