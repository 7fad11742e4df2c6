extension Store {
    /// Deletes some rows that ended before an instant. Of nodes that share a store, one does it at a time; the others delete nothing.
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
            case .caps: try session.deleteExpiredCaps(before: before)
            case .counts, .events, .geofences, .drafts, .webhooks: try session.deleteExpired(kind, before: before)
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
            for sql in [ReportStatements.deleteExpired, RetentionStatements.deleteExpiredBatches] {
                rows += try prepared(sql).run(push, DeletedRows.rowsMax - rows)
                guard rows < DeletedRows.rowsMax else { return DeletedRows(rows: rows, isMore: true) }
            }
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
        let others = try deleteExpired(.pushes, before: before)
        return DeletedRows(
            rows: pushes.count + others.rows, isMore: pushes.count == DeletedRows.pushesMax || others.isMore)
    }

    /// And the messages of Web Push that no device has fetched in time.
    fileprivate func deleteExpiredCaps(before: Instant) throws -> DeletedRows {
        let most = Retention.Kind.caps.rowsMax
        let messages = try deleteMessages(WebPushStatements.deleteAllExpired, now, most).count
        let others = try deleteExpired(.caps, before: before)
        return DeletedRows(rows: messages + others.rows, isMore: messages == most || others.isMore)
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
            try deactivate(due.map { Settlement.DeadToken(device: $0, since: .distantFuture) }, on: platform, as: .lost)
            try prepared(RetentionStatements.retire).send(SQLKeys(due))
            return DeletedRows(rows: due.count, isMore: true)
        }
        return DeletedRows()
    }

    /// Deletes some rows of each table whose rows are kept for as long.
    fileprivate func deleteExpired(_ kind: Retention.Kind, before: Instant) throws -> DeletedRows {
        var deleted = DeletedRows()
        for table in Self.tables {
            guard let expiry = table.expiry, expiry.kind == kind, let sql = table.deleteExpired else { continue }
            let bound = expiry.unit.map { before.bucket(of: $0) } ?? before.milliseconds
            let rows = try prepared(sql).run(bound, kind.rowsMax)
            deleted = DeletedRows(rows: deleted.rows + rows, isMore: deleted.isMore || rows == kind.rowsMax)
        }
        return deleted
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

    /// Scans `device_unseen`, without devices that register meanwhile.
    static let unseen: SQLText = """
        SELECT id /* retention.unseen */
          FROM (SELECT id, imported_at_ms FROM device
                 WHERE platform_id = $1 AND import_stage = 0 ORDER BY id LIMIT $2
                       \(SQLText.forUpdateSkipLocked)) AS first
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
        "DELETE FROM push_opening /* retention.forget_push_openings */ WHERE push_id \(among: "$1")",
        "DELETE FROM push_report /* retention.forget_push_reports */ WHERE push_id \(among: "$1")",
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

/// The result of one step.
package struct DeletedRows: Sendable, Hashable {
    package var rows = 0
    /// Whether another step may find more.
    package var isMore = false

    /// The most rows of a step. A batch of answers is about a kilobyte.
    package static let rowsMax = 200
    /// The most pushes of a step.
    package static let pushesMax = 250
}

/// The times for which ended things are kept.
package struct Retention: Sendable, Hashable {
    /// The kinds of rows that are deleted by age, in this order.
    package enum Kind: String, Sendable, CaseIterable {
        /// Hashes of events, by which repeats are known.
        case events
        /// Counts of events.
        case counts
        /// Geofences that were deleted before their end, which devices have to remove until then.
        case geofences
        /// The answers of each device of a settled push. The push's counters stay.
        case answers
        /// Settled pushes, with their counters and the rest of their answers.
        case pushes
        /// Lines of the audit log.
        case audit
        /// Expired answers for repeated requests.
        case idempotency
        /// Devices that were imported, and whose apps have not registered since: they become inactive.
        case unseen
        /// Imports of the admin API, with their verdicts.
        case imports
        /// Texts that people have written in Compose and not sent.
        case drafts
        /// Pushes that frequency caps count no more, and messages of Web Push that are over.
        case caps
        /// Events for webhooks and feeds, and attempts to deliver them.
        case webhooks

        /// Kinds that have a metric.
        package static let measured = allCases.filter { $0.rowsMax == DeletedRows.rowsMax }

        /// The most rows of a table that are deleted in a step.
        var rowsMax: Int {
            switch self {
            case .events, .counts, .geofences, .caps, .webhooks: 1_000
            default: DeletedRows.rowsMax
            }
        }
    }

    private let counts: Duration?
    package let eventsLateMax: Duration
    private let answers: Duration?
    private let pushes: Duration?
    private let audit: Duration?
    private let unseen: Duration?
    private let imports: Duration?

    /// A push by the clocks of recipients goes round the world within `LocalDelivery.spread`, and asks the answers of its steps who got it already.
    private static let answersMin = Duration.seconds(2 * 86_400)

    /// nil keeps for ever.
    ///
    /// - Parameter eventsLateMax: how late an event may arrive and still be recognised as a repeat. Rounded up to whole days.
    package init(
        counts: Duration? = .seconds(90 * 86_400), eventsLateMax: Duration = .seconds(30 * 86_400),
        answers: Duration? = .seconds(30 * 86_400), pushes: Duration? = .seconds(90 * 86_400),
        audit: Duration? = .seconds(730 * 86_400), unseen: Duration? = nil,
        imports: Duration? = .seconds(30 * 86_400)
    ) {
        self.counts = counts
        self.eventsLateMax = eventsLateMax
        self.answers = answers.map { max($0, Self.answersMin) }
        self.pushes = pushes.map { max($0, Self.answersMin) }
        self.audit = audit
        self.unseen = unseen
        self.imports = imports
    }

    /// The cut-off time for a kind; nil if it is kept for ever.
    package func bound(of kind: Kind, at now: Instant) -> Instant? {
        let kept: Duration? =
            switch kind {
            case .events: .seconds(86_400) + eventsLateMax
            case .counts: counts
            case .geofences: .seconds(86_400)
            // No answer outlives its push.
            case .answers: [answers, pushes].compactMap(\.self).min()
            case .pushes: pushes
            case .audit: audit
            case .idempotency: IdempotencyRecord.lifetime
            case .unseen: unseen
            case .imports: imports
            case .drafts: ComposeDraft.lifetime
            case .caps: FrequencyCap.Period.week.duration
            case .webhooks: .zero
            }
        return kept.map { now + (.zero - $0) }
    }
}
