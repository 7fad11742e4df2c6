import BelfryCore

extension SQLStore {
    package func claimBatches(_ claim: BatchClaim) async throws -> [Batch] {
        let turn = nextTurn()
        return try await write { session in
            try Claims(session: session, turn: turn).claim(
                .batches, atMost: claim.batchesMax, lanes: claim.lanes, room: claim.room(on:)
            ) { lane, platform, share in
                try session.leaseBatches(
                    in: lane, on: platform, dueBy: session.now, atMost: share, until: session.now + claim.lease,
                    waiting: false)
            }
        }
    }

    package func load(_ batch: Batch) async throws -> BatchLoad? {
        let loading = try await glance { [pushes] db -> BatchLoading in
            guard let push = try readable({ try pushes.push(batch.pushKey, in: db) }) else { return .damaged }
            guard
                let push,
                let platform = try db.prepared(PlatformStatements.byKey).first(batch.platformKey, as: Platform.init)
            else { return .gone }
            return .done(BatchLoad(push: push, platform: platform, recipients: try db.recipients(of: batch)))
        }
        switch loading {
        case .done(let load): return load
        case .gone: return nil
        case .damaged:
            try await write { try $0.setAside(batch) }
            return nil
        }
    }

    package func nextDue() async throws -> Instant? {
        try await glance { db in
            let earliest = try [BatchStatements.nextDue, FanOutStatements.nextDue].compactMap { sql in
                try db.prepared(sql).first { $0.integerIfAny(0) } ?? nil
            }.min()
            return earliest.map(Instant.init(milliseconds:))
        }
    }

    package func hints() -> AsyncStream<Void> { signals.stream() }
}

enum BatchStatements {
    static let insert: SQLText = """
        INSERT INTO batch /* batches.insert */ (
            push_id, platform_id, lane, first_device_id, last_device_id, due_at_ms, devices, answers)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let forSettling: SQLText = """
        SELECT attempt, claim_count, is_open, answers /* batches.for_settling */ FROM batch WHERE id = $1 \(SQLText.forUpdate)
        """

    static let settle: SQLText = """
        UPDATE batch /* batches.settle */
           SET answers = $1, due_at_ms = coalesce($2, due_at_ms), retry_at_ms = $2, is_open = $3, claim_count = 0
         WHERE id = $4
        """

    /// Scans `batch_device` backwards to the only batch of the device's platform that can hold it.
    static let holding: SQLText = """
        SELECT devices, answers /* batches.holding */ FROM batch
         WHERE push_id = $1 AND platform_id = (SELECT platform_id FROM device WHERE id = $2) AND first_device_id <= $2
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// SQLite takes one step of a loose index scan over `batch_due` for each platform, PostgreSQL for each lane and
    /// platform that has something.
    static let nextDue: SQLText = """
        \(sqlite: """
            SELECT min((SELECT min(due_at_ms) FROM batch
                         WHERE is_open = true AND batch.lane = lane.id AND platform_id = platform.id)) /* batches.next_due */
              FROM platform JOIN application ON application.id = application_id
              JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
             WHERE parked_cause IS NULL AND is_deleted = 0 AND is_being_deleted = 0
            """,
            postgres: """
            WITH RECURSIVE bidder /* batches.next_due */ AS (
                (SELECT lane, platform_id, due_at_ms FROM batch
                  WHERE is_open
                  ORDER BY lane, platform_id, due_at_ms LIMIT 1)
                UNION ALL
                SELECT next.lane, next.platform_id, next.due_at_ms
                  FROM bidder CROSS JOIN LATERAL (
                    SELECT batch.lane, batch.platform_id, batch.due_at_ms FROM batch
                     WHERE is_open AND (batch.lane, batch.platform_id) > (bidder.lane, bidder.platform_id)
                     ORDER BY batch.lane, batch.platform_id, batch.due_at_ms LIMIT 1) AS next)
            SELECT min(due_at_ms)
              FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
             WHERE parked_cause IS NULL AND NOT is_deleted AND NOT is_being_deleted
            """)
        """
}
