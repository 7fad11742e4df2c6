package import FoundationEssentials

extension Store {
    package func receipt(_ receiptID: UUID) async throws -> Receipt? {
        let now = clock.now
        return try await readCommitted { db in
            guard let push = try db.prepared(PushStatements.headByReceipt).first(receiptID, as: PushHead.init) else {
                return nil
            }
            return try db.receipts(of: [push], at: now, nil).first
        }
    }
}

enum PushStatements {
    static let insert: SQLText = """
        INSERT INTO push /* pushes.insert */ (
            receipt_id, application_id, lane, guarantee, expires_at_ms, content, audience, platforms, kind,
            accepted_at_ms)
        \(sqlite: "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            postgres: "SELECT *, $10 FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            ON CONFLICT (receipt_id) DO NOTHING
        \(postgres: "RETURNING id, receipt_id")
        """

    static let insertProgress: SQLText = """
        INSERT INTO push_progress /* pushes.insert_progress */ (push_id, open_fan_out_count, settled_at_ms)
        VALUES ($1, $2, $3)
        """

    /// Inserts the progress of a push that was accepted with all its batches, once those are deleted.
    static let insertSettled: SQLText = """
        INSERT INTO push_progress /* pushes.insert_settled */ (
            push_id, open_fan_out_count, device_count, first_answer_at_ms, settled_at_ms, has_answers)
        VALUES ($1, 0, $2, $3, $4, false)
        """

    static let receiptOf: SQLText = "SELECT receipt_id /* pushes.receipt_of */ FROM push WHERE id = $1"

    static let byKey: SQLText = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience, platforms
               /* pushes.by_key */
          FROM push
         WHERE id = $1
        """

    static let content: SQLText = "SELECT content /* pushes.content */ FROM push WHERE id = $1"

    static let byReceipt: SQLText = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience,
               platforms /* pushes.by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = $1 AND NOT is_being_deleted
        """

    static let headByReceipt: SQLText = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* pushes.head_by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = $1 AND NOT is_being_deleted
        """

    /// Reads the progress of pushes. Fan-outs are read in the order of their primary key, so that no other index is scanned.
    static let progress: SQLText = """
        SELECT push_id, open_fan_out_count, device_count, first_answer_at_ms, settled_at_ms,
               (SELECT count(*) FROM damaged_batch
                 WHERE damaged_batch.push_id = push_progress.push_id
                   AND (SELECT is_open FROM batch WHERE id = batch_id)),
               (SELECT count(*)
                  FROM (SELECT is_claimed, due_at_ms FROM fan_out
                         WHERE fan_out.push_id = push_progress.push_id
                         ORDER BY platform_id \(sqlite: "LIMIT -1 ")OFFSET 0) AS own
                 WHERE NOT is_claimed AND due_at_ms > $2) /* pushes.progress */
          FROM push_progress
         WHERE push_id \(among: "$1")
        """

    /// All batches of pushes that have no progress. Scans `batch_device`.
    static let whole: SQLText = """
        SELECT push_id, answers, is_open, due_at_ms, answered_at_ms,
               (SELECT count(*) FROM damaged_batch WHERE batch_id = batch.id), platform_id /* pushes.whole */
          FROM batch
         WHERE push_id \(among: "$1")
        """

    /// Reads the push's batches only for platforms that are parked.
    static let parkings: SQLText = """
        SELECT push.id, parked_cause, parked_detail, parked_since_ms, platform.uuid, platform.name, probe_at_ms, probe_count
               /* pushes.parkings */
          FROM push JOIN platform ON platform.application_id = push.application_id
         WHERE push.id \(among: "$1") AND parked_cause IS NOT NULL
           AND (EXISTS (SELECT 1 FROM fan_out WHERE push_id = push.id AND platform_id = platform.id)
                OR EXISTS (SELECT 1 FROM batch WHERE push_id = push.id AND platform_id = platform.id AND is_open))
         ORDER BY push.id, platform.id
        """

    /// Writes the result of a step of a fan-out. Comes after the batches.
    static let advance: SQLText = """
        UPDATE push_progress /* pushes.advance */
           SET open_fan_out_count = open_fan_out_count - $1, open_batch_count = open_batch_count + $2,
               device_count = device_count + $3,
               settled_at_ms = CASE WHEN open_fan_out_count = $1 AND open_batch_count + $2 = 0 THEN $4 END
         WHERE push_id = $5
        """

    /// Updates the push of a settled batch.
    static let settle: SQLText = """
        UPDATE push_progress /* pushes.settle */
           SET open_batch_count = open_batch_count - $1, first_answer_at_ms = coalesce(first_answer_at_ms, $2),
               settled_at_ms = CASE WHEN open_fan_out_count = 0 AND open_batch_count = $1 THEN $3 END
         WHERE push_id = $4
        """
}

enum TallyStatements {
    static let all: SQLText = """
        SELECT push_id, answer, device_count /* tallies.all */ FROM tally WHERE push_id \(among: "$1")
        """

    static let add: SQLText = """
        INSERT INTO tally /* tallies.add */ (push_id, answer, device_count) VALUES ($1, $2, $3)
            ON CONFLICT (push_id, answer) DO UPDATE SET device_count = tally.device_count + excluded.device_count
        """
}

extension PostgresStore {
    /// A push with a line for the audit log has a transaction of its own, which has the line too.
    package func accept(_ push: NewPush) async throws -> Push {
        let located = try await locating(push)
        guard PendingAuditEntry.pending == nil else {
            return try await write { try PushInserter(session: $0).accept([located])[0].get() }
        }
        return try await acceptances.submit(located, in: self)
    }
}

extension SQLiteStore {
    /// The writer shares its transactions among all that waits.
    package func accept(_ push: NewPush) async throws -> Push {
        let located = try await locating(push)
        return try await write { try PushInserter(session: $0).accept([located])[0].get() }
    }
}
