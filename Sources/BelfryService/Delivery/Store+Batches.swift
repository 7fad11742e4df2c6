extension Store {
    package func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]] {
        let turn = nextTurn()
        return try await write { session in
            try session.answerAtCommit()
            return try Claims(session: session, turn: turn).claim(
                .batches, atMost: claim.burstsMax, lanes: claim.lanes, until: session.now + claim.lease,
                room: claim.room(on:)
            ) { lane, platform, share in
                let batches = try session.leaseBatches(
                    in: lane, on: platform, atMost: share, of: claim.burst, until: session.now + claim.lease)
                return claim.burst.runs(of: batches)
            }
        }
    }

    package func awaitDisk() async throws { try await write { try $0.awaitDisk() } }

    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        guard let platformKey = batches.first?.platformKey else { return [] }
        let (loads, damaged) = try await readCommitted { [pushes] db -> ([BatchLoad?], [Batch]) in
            let platform = try db.prepared(PlatformStatements.byKey).first(platformKey, as: Platform.init)
            guard let platform else { return (batches.map { _ in nil }, []) }
            let found = try pushes.pushes(of: batches, in: db)
            let loaded = Array(batches.prefix(found.count))
            var damaged: [Batch] = []
            let loads = zip(zip(loaded, found), try db.recipients(of: loaded)).map { pair, recipients -> BatchLoad? in
                switch pair.1 {
                case .found(let push): return BatchLoad(push: push, platform: platform, recipients: recipients)
                case .gone: return nil
                case .damaged:
                    damaged.append(pair.0)
                    return nil
                }
            }
            return (loads, damaged)
        }
        if !damaged.isEmpty { try await write { session in for batch in damaged { try session.setAside(batch) } } }
        return loads
    }

    package func nextDue() async throws -> Instant? {
        try await readCommitted { db in
            let earliest = try [BatchStatements.nextDue, FanOutStatements.nextDue].compactMap { sql in
                try db.prepared(sql).first { $0.integerIfAny(0) } ?? nil
            }.min()
            return earliest.map(Instant.init(milliseconds:))
        }
    }

    package func hints(of work: DueWork) -> AsyncStream<Void> { signals.stream(of: work) }
}

enum BatchStatements {
    static let insert: SQLText = """
        INSERT INTO batch /* batches.insert */ (
            push_id, platform_id, lane, first_device_id, last_device_id, devices, answers, due_at_ms, is_whole)
        \(sqlite: "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            postgres: "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        """

    static let forSettling: SQLText = """
        SELECT id, attempt, claim_count, answers, is_whole, is_cancelled /* batches.for_settling */ FROM batch
         WHERE id \(among: "$1")
         ORDER BY id
           \(SQLText.forUpdate)
        """

    static let settle: SQLText = """
        UPDATE batch /* batches.settle */
           SET \(sqlite: """
                answers = $1, retry_at_ms = $2, due_at_ms = $3, is_open = $4,
                answered_at_ms = coalesce(answered_at_ms, $5), claim_count = 0
                WHERE id = $6
                """,
                postgres: """
                answers = settled.answers, retry_at_ms = settled.retry_at_ms, due_at_ms = settled.due_at_ms,
                is_open = settled.is_open, answered_at_ms = coalesce(batch.answered_at_ms, settled.answered_at_ms),
                claim_count = 0
                  FROM unnest($1, $2, $3, $4, $5, $6)
                    AS settled (answers, retry_at_ms, due_at_ms, is_open, answered_at_ms, id)
                 WHERE batch.id = settled.id
                """)
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
            \(PostgresClaimStatements.bidders("/* batches.next_due */", of: "batch", where: "is_open"))
            SELECT min(due_at_ms)
              FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
             WHERE parked_cause IS NULL AND NOT is_deleted AND NOT is_being_deleted
            """)
        """
}
