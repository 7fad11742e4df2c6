package import BelfryCore
import GRDB

extension SQLiteStore: RetentionStore {
    package func forget(_ kind: Retention.Kind, before: Instant) async throws -> Forgotten {
        try await writer.write { session in
            switch kind {
            case .answers: try session.forgetAnswers(before: before)
            case .pushes: try session.forgetPushes(before: before)
            case .audit: try session.forgetAudit(before: before)
            case .idempotency: try session.forgetRecords(until: before)
            }
        }
    }
}

extension WriteSession {
    /// Push by push, the one first that was settled first.
    fileprivate func forgetAnswers(before: Instant) throws -> Forgotten {
        let pushes = try prepared(RetentionStatements.withAnswers).all(before, Forgotten.pushesMax) {
            Key<Push>($0.integer(0))
        }
        var rows = 0
        for push in pushes {
            let left = Forgotten.rowsMax - rows
            try prepared(RetentionStatements.forgetPages).run(push, left)
            rows += db.changesCount
            guard rows < Forgotten.rowsMax else { return Forgotten(rows: rows, isMore: true) }
            try prepared(RetentionStatements.noteNoAnswers).run(push)
        }
        return Forgotten(rows: rows, isMore: pushes.count == Forgotten.pushesMax)
    }

    fileprivate func forgetPushes(before: Instant) throws -> Forgotten {
        let pushes = try prepared(RetentionStatements.withoutAnswers).all(before, Forgotten.pushesMax) {
            Key<Push>($0.integer(0))
        }
        for push in pushes {
            for sql in RetentionStatements.ofPush { try prepared(sql).run(push) }
            try prepared(RetentionStatements.forgetPush).each(push) { row in
                note(-Int(row.integer(1)), .content, of: Key(row.integer(0)))
            }
        }
        return Forgotten(rows: pushes.count, isMore: pushes.count == Forgotten.pushesMax)
    }

    fileprivate func forgetAudit(before: Instant) throws -> Forgotten {
        try prepared(RetentionStatements.raiseHorizon).run(before)
        try prepared(RetentionStatements.forgetAudit).run(before, Forgotten.rowsMax)
        return Forgotten(rows: db.changesCount, isMore: db.changesCount == Forgotten.rowsMax)
    }

    fileprivate func forgetRecords(until: Instant) throws -> Forgotten {
        let rows = try clearIdempotency(until: until, atMost: Forgotten.rowsMax)
        return Forgotten(rows: rows, isMore: rows == Forgotten.rowsMax)
    }
}

enum RetentionStatements {
    /// Walks `push_progress_settled`.
    static let withAnswers = """
        SELECT push_id /* retention.with_answers */ FROM push_progress
         WHERE has_answers = 1 AND settled_at_ms < ?1
         ORDER BY settled_at_ms
         LIMIT ?2
        """

    /// Walks `push_progress_settled`.
    static let withoutAnswers = """
        SELECT push_id /* retention.without_answers */ FROM push_progress
         WHERE has_answers = 0 AND settled_at_ms < ?1
         ORDER BY settled_at_ms
         LIMIT ?2
        """

    /// Walks `page_device`.
    static let forgetPages = """
        DELETE FROM page /* retention.forget_pages */
         WHERE id IN (SELECT id FROM page WHERE push_id = ?1 LIMIT ?2)
        """

    static let noteNoAnswers = """
        UPDATE push_progress /* retention.note_no_answers */ SET has_answers = 0 WHERE push_id = ?1
        """

    /// What refers to a push.
    static let ofPush = [
        "DELETE FROM push_count /* retention.forget_push_counts */ WHERE push_id = ?1",
        "DELETE FROM tally /* retention.forget_tallies */ WHERE push_id = ?1",
        "DELETE FROM push_progress /* retention.forget_progress */ WHERE push_id = ?1",
    ]

    static let forgetPush = """
        DELETE FROM push /* retention.forget_push */ WHERE id = ?1
        RETURNING application_id, length(CAST(content AS BLOB)) + length(CAST(audience AS BLOB))
        """

    static let raiseHorizon = """
        INSERT INTO audit_horizon /* retention.raise_horizon */ (id, at_ms) VALUES (1, ?1)
            ON CONFLICT (id) DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)
        """

    /// Walks `audit_at`.
    static let forgetAudit = """
        DELETE FROM audit /* retention.forget_audit */
         WHERE id IN (SELECT id FROM audit WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)
        """
}
