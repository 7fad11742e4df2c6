extension SQLStore {
    package func deleteExpired(_ kind: Retention.Kind, before: Instant) async throws -> DeletedRows {
        try await write { session in
            guard try session.prepared(RetentionStatements.turn).first(as: { $0.bool(0) }) ?? false else {
                return DeletedRows()
            }
            return switch kind {
            case .answers: try session.deleteExpiredAnswers(before: before)
            case .pushes: try session.deleteExpiredPushes(before: before)
            case .audit: try session.deleteExpiredAudit(before: before)
            case .idempotency: try session.deleteExpiredRecords(until: before)
            case .unseen: try session.retireUnseen(before: before)
            case .imports: try session.deleteExpiredImports(before: before)
            case .drafts: try session.deleteExpiredDrafts(before: before)
            }
        }
    }
}

extension WriteSession {
    /// Push by push, in the order in which they were settled.
    fileprivate func deleteExpiredAnswers(before: Instant) throws -> DeletedRows {
        let pushes = try prepared(RetentionStatements.withAnswers).all(before, DeletedRows.pushesMax) {
            Key<Push>($0.integer(0))
        }
        var rows = 0
        for push in pushes {
            rows += try prepared(RetentionStatements.deleteExpiredBatches).run(push, DeletedRows.rowsMax - rows)
            guard rows < DeletedRows.rowsMax else { return DeletedRows(rows: rows, isMore: true) }
            try prepared(RetentionStatements.noteNoAnswers).send(push)
        }
        let whole = try deleteExpiredWhole(before: before)
        return DeletedRows(rows: rows + whole.rows, isMore: whole.isMore || pushes.count == DeletedRows.pushesMax)
    }

    /// Writes down what pushes count that are counted by their batches, and forgets the batches.
    private func deleteExpiredWhole(before: Instant) throws -> DeletedRows {
        let found = try prepared(RetentionStatements.whole).all(before, DeletedRows.pushesMax) {
            Key<Push>($0.integer(0))
        }
        let pushes = Set(found)
        guard !pushes.isEmpty else { return DeletedRows() }
        let keys = SQLKeys(pushes.sorted())
        var progress: [Key<Push>: PushProgress] = [:]
        var sent = SentCounts()
        var rows = 0
        try prepared(PushStatements.whole).each(keys) { row in
            let push = Key<Push>(row.integer(0))
            progress[push, default: PushProgress()].add(wholeBatch: row)
            var tally = AnswerTally()
            row.withBlob(1) { tally.add($0) }
            sent.add(tally.final[.accepted] ?? 0, of: push, on: Key(row.integer(6)))
            rows += 1
        }
        let add = try prepared(TallyStatements.add)
        for (push, progress) in progress.sorted(by: { $0.key < $1.key }) {
            try prepared(PushStatements.insertSettled).send(
                push, progress.devices, progress.firstAnswerAt, progress.settledAt)
            for (answer, count) in (progress.counts ?? [:]).sorted(by: { $0.key.code < $1.key.code }) {
                try add.send(push, Int(answer.code), count)
            }
        }
        try sent.write(in: self)
        try prepared(RetentionStatements.deleteExpiredWhole).send(keys)
        return DeletedRows(rows: rows, isMore: found.count == DeletedRows.pushesMax)
    }

    fileprivate func deleteExpiredPushes(before: Instant) throws -> DeletedRows {
        let pushes = try prepared(RetentionStatements.withoutAnswers).all(before, DeletedRows.pushesMax) {
            Key<Push>($0.integer(0))
        }
        for sql in RetentionStatements.ofPushes { try prepared(sql).send(SQLKeys(pushes)) }
        try prepared(RetentionStatements.deleteExpiredPushes).each(SQLKeys(pushes)) { row in
            note(-Int(row.integer(1)), .content, of: Key(row.integer(0)))
        }
        let messages = try prepared(CarmaContactStatements.deleteExpired).run(before, DeletedRows.rowsMax)
        let imports = try prepared(CarmaImportStatements.deleteExpired).run(before, DeletedRows.rowsMax)
        return DeletedRows(
            rows: pushes.count + messages + imports,
            isMore: pushes.count == DeletedRows.pushesMax || max(messages, imports) == DeletedRows.rowsMax)
    }

    fileprivate func deleteExpiredAudit(before: Instant) throws -> DeletedRows {
        try prepared(RetentionStatements.raiseHorizon).run(before)
        let rows = try prepared(RetentionStatements.deleteExpiredAudit).run(before, DeletedRows.rowsMax)
        return DeletedRows(rows: rows, isMore: rows == DeletedRows.rowsMax)
    }

    /// Ids ascend as devices were imported: where the first of a platform are not due, none is.
    fileprivate func retireUnseen(before: Instant) throws -> DeletedRows {
        let platforms = try prepared(RetentionStatements.withImports).all { Key<Platform>($0.integer(0)) }
        for platform in platforms {
            let due = try prepared(RetentionStatements.unseen).all(platform, DeviceImport.perWrite, before) {
                Key<Device>($0.integer(0))
            }
            guard !due.isEmpty else { continue }
            try deactivate(due.map { Settlement.DeadToken(device: $0, since: .distantFuture) }, on: platform)
            try prepared(RetentionStatements.retire).send(SQLKeys(due))
            return DeletedRows(rows: due.count, isMore: true)
        }
        return DeletedRows()
    }

    fileprivate func deleteExpiredDrafts(before: Instant) throws -> DeletedRows {
        let rows = try prepared(DraftStatements.deleteExpired).run(before, DeletedRows.rowsMax)
        return DeletedRows(rows: rows, isMore: rows == DeletedRows.rowsMax)
    }

    fileprivate func deleteExpiredRecords(until: Instant) throws -> DeletedRows {
        let rows = try clearIdempotency(until: until, atMost: DeletedRows.rowsMax)
        return DeletedRows(rows: rows, isMore: rows == DeletedRows.rowsMax)
    }
}

enum RetentionStatements {
    static let withImports: SQLText = """
        SELECT id /* retention.with_imports */ FROM platform WHERE has_imports AND NOT is_deleted ORDER BY id
        """

    /// Scans `device_unseen`.
    static let unseen: SQLText = """
        SELECT id /* retention.unseen */
          FROM (SELECT id, imported_at_ms FROM device
                 WHERE platform_id = $1 AND import_stage = 0 ORDER BY id LIMIT $2) AS first
         WHERE imported_at_ms < $3
         ORDER BY id
        """

    static let retire: SQLText = "UPDATE device /* retention.retire */ SET import_stage = 3 WHERE id \(among: "$1")"

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
    static let deleteExpiredBatches = SQLText.deleteSome(
        "retention.forget_batches", from: "batch", key: "id", where: "push_id = $1")

    /// Scans `batch_settled`, past pushes that have another batch which is open, or was settled later.
    static let whole: SQLText = """
        SELECT push_id /* retention.whole */ FROM batch
         WHERE is_whole = true AND is_open = false AND due_at_ms < $1
           AND NOT EXISTS (
            SELECT 1 FROM batch AS other
             WHERE other.push_id = batch.push_id AND (other.is_open = true OR other.due_at_ms >= $1))
         ORDER BY due_at_ms
         LIMIT $2
        """

    /// Scans `batch_device`.
    static let deleteExpiredWhole: SQLText = """
        DELETE FROM batch /* retention.delete_expired_whole */ WHERE push_id \(among: "$1")
        """

    static let noteNoAnswers: SQLText = """
        UPDATE push_progress /* retention.note_no_answers */ SET has_answers = false WHERE push_id = $1
        """

    /// The rows that refer to pushes.
    static let ofPushes: [SQLText] = [
        "DELETE FROM push_count /* retention.forget_push_counts */ WHERE push_id \(among: "$1")",
        "DELETE FROM tally /* retention.forget_tallies */ WHERE push_id \(among: "$1")",
        "DELETE FROM push_progress /* retention.forget_progress */ WHERE push_id \(among: "$1")",
    ]

    static let deleteExpiredPushes: SQLText = """
        DELETE FROM push /* retention.forget_pushes */ WHERE id \(among: "$1")
        RETURNING application_id, \(bytesOf: "content") + \(bytesOf: "audience")
        """

    static let raiseHorizon: SQLText = """
        INSERT INTO audit_horizon /* retention.raise_horizon */ (id, at_ms) VALUES (1, $1)
            ON CONFLICT (id) DO UPDATE SET at_ms = \(SQLText.greatest)(audit_horizon.at_ms, excluded.at_ms)
        """

    /// Scans `audit_at`.
    static let deleteExpiredAudit = SQLText.deleteSome(
        "retention.forget_audit", from: "audit", key: "id", where: "at_ms < $1 ORDER BY at_ms")
}
