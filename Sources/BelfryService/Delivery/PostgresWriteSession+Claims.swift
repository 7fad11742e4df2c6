import FoundationEssentials
import PostgreSQL

extension PostgresWriteSession {
    package func insert(_ pushes: [NewPush]) throws -> [Key<Push>?] {
        var keys: [UUID: Key<Push>] = [:]
        guard !pushes.isEmpty else { return [] }
        try prepared(PushStatements.insert).each(
            PostgresArray(pushes.map(\.receiptID)), PostgresArray(pushes.map(\.applicationKey)),
            PostgresArray(pushes.map(\.lane.rawValue)), PostgresArray(pushes.map(\.guarantee.rawValue)),
            PostgresArray(pushes.map(\.expiresAt)), PostgresArray(pushes.map(\.storedContent)),
            PostgresArray(pushes.map(\.storedAudience)), PostgresArray(pushes.map { $0.platforms?.storedText }),
            PostgresArray(pushes.map(\.content.pacing.kind)), now
        ) { row in
            if let receiptID = row.uuid(1) { keys[receiptID] = Key(row.integer(0)) }
        }
        return pushes.map { keys[$0.receiptID] }
    }

    package func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid] {
        let sql = work == .batches ? PostgresClaimStatements.batchBids : PostgresClaimStatements.fanOutBids
        let bids = try prepared(sql).all(now, PostgresArray(lanes.map(\.rawValue))) { row in
            (
                lane: row.integer(0),
                bid: Bid(
                    platform: Key(row.integer(1)), application: Key(row.integer(2)), tenant: Key(row.integer(4)),
                    isProbe: row.bool(3))
            )
        }
        return { lane in bids.filter { $0.lane == lane.rawValue }.map(\.bid) }
    }

    package func leaseFanOuts(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [FanOut] {
        let claimed = try prepared(PostgresClaimStatements.fanOuts).all(
            lane.rawValue, platform, now, limit, end, as: ClaimedFanOut.init)
        return try claimed.sorted { ($0.dueAt, $0.push) < ($1.dueAt, $1.push) }
            .compactMap { try fanOut($0, on: platform) }
    }

    /// The first statement leases as many as there would be if all were full. While they are small there is room for more, and each further
    /// statement looks at eight times as many. Batches that it looks at and has no room for are locked until the commit.
    package func leaseBatches(
        in lane: Lane, on platform: Key<Platform>, atMost count: Int, of burst: Burst, until end: Instant
    ) throws -> [Batch] {
        var leased: [ClaimedBatch] = []
        var (limit, room) = (count, count * burst.weightMax)
        while room > 0 {
            let more = try claim(
                PostgresClaimStatements.batches, in: lane, on: platform, dueBy: now, limit, end, room, of: burst)
            leased += more
            room -= more.reduce(0) { $0 + $1.weight(in: burst) }
            guard more.count == limit else { break }
            limit *= 8
        }
        return try leased.compactMap { try batch($0) }
    }

    package func takeBatches(in lane: Lane, on platform: Key<Platform>, atMost limit: Int) throws -> [Batch] {
        try claim(
            PostgresClaimStatements.allBatches, in: lane, on: platform, dueBy: .distantFuture, limit, now, .max,
            of: Burst()
        ).compactMap { try batch($0) }
    }

    private func claim(
        _ sql: String, in lane: Lane, on platform: Key<Platform>, dueBy: Instant, _ limit: Int, _ end: Instant,
        _ room: Int, of burst: Burst
    ) throws -> [ClaimedBatch] {
        try prepared(sql).all(lane.rawValue, platform, dueBy, limit, end, room, burst.weightMax) { row in
            try ClaimedBatch(row, in: lane, on: platform, at: now)
        }.sorted { ($0.dueAt, $0.key) < ($1.dueAt, $1.key) }
    }
}

/// Claiming leases work: the due time moves to the end of the lease, so that expired leases need no recovery.
enum PostgresClaimStatements {
    static let batchBids = bids("/* batches.bids */", of: "batch", where: "is_open")
    static let fanOutBids = bids("/* fan_outs.bids */", of: "fan_out", where: "true")

    private static func bids(_ name: String, of table: String, where condition: String) -> String {
        """
        \(bidders(name, of: table, where: condition))
        SELECT lane, platform_id, application_id, parked_cause IS NOT NULL, tenant_id
          FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
         WHERE due_at_ms <= $1 AND lane = ANY ($2)
           AND (parked_cause IS NULL OR probe_at_ms <= $1) AND NOT is_deleted AND NOT is_being_deleted
         ORDER BY lane, platform_id
        """
    }

    /// A loose index scan over `batch_due` or `fan_out_due`: one step for each lane and platform that has something.
    static func bidders(_ name: String, of table: String, where condition: String) -> String {
        """
        WITH RECURSIVE bidder \(name) AS (
            (SELECT lane, platform_id, due_at_ms FROM \(table)
              WHERE \(condition)
              ORDER BY lane, platform_id, due_at_ms LIMIT 1)
            UNION ALL
            SELECT next.lane, next.platform_id, next.due_at_ms
              FROM bidder CROSS JOIN LATERAL (
                SELECT due.lane, due.platform_id, due.due_at_ms FROM \(table) AS due
                 WHERE \(condition) AND (due.lane, due.platform_id) > (bidder.lane, bidder.platform_id)
                 ORDER BY due.lane, due.platform_id, due.due_at_ms LIMIT 1) AS next)
        """
    }

    /// Scans `batch_due`, and skips what another node is claiming.
    static let batches = claim("/* batches.claim */", "FOR UPDATE SKIP LOCKED")

    /// Like `batches`, but waits for those that are being claimed or settled, so that none is left out.
    static let allBatches = claim("/* platform_deletion.claim_batches */", "FOR UPDATE")

    /// Leases of up to `$4` batches those for which there is room.
    private static func claim(_ name: String, _ locking: String) -> String {
        """
        WITH candidate \(name) AS MATERIALIZED (
            SELECT id, due_at_ms, least(greatest(length(answers), \(Burst.weightMin)), $7) AS weight FROM batch
             WHERE is_open AND lane = $1 AND platform_id = $2 AND due_at_ms <= $3
             ORDER BY due_at_ms, id
             LIMIT $4
               \(locking)),
        due AS MATERIALIZED (
            SELECT id, due_at_ms, weight, sum(weight) OVER (ORDER BY due_at_ms, id) AS total FROM candidate)
        UPDATE batch
           SET due_at_ms = $5, attempt = attempt + 1, claim_count = claim_count + 1
          FROM due
         WHERE batch.id = due.id AND total - weight < $6
        RETURNING batch.id, push_id, attempt, claim_count, devices, answers, due.due_at_ms,
                  coalesce(retry_at_ms, due.due_at_ms), is_cancelled
        """
    }

    /// Scans `fan_out_due`, and skips what another node is claiming.
    static let fanOuts = """
        WITH due /* fan_outs.claim */ AS MATERIALIZED (
            SELECT push_id, platform_id, due_at_ms FROM fan_out
             WHERE lane = $1 AND platform_id = $2 AND due_at_ms <= $3
             ORDER BY due_at_ms, push_id
             LIMIT $4
               FOR UPDATE SKIP LOCKED)
        UPDATE fan_out
           SET due_at_ms = $5, attempt = attempt + 1, is_claimed = true
          FROM due
         WHERE fan_out.push_id = due.push_id AND fan_out.platform_id = due.platform_id
        RETURNING fan_out.push_id, attempt, cursor, due.due_at_ms, is_cancelled
        """
}
