import GRDB

extension SQLiteWriteSession {
    /// `RETURNING` would make a table of its own at each insertion, with a pager and a cache.
    package func insert(_ pushes: [NewPush]) throws -> [Key<Push>?] {
        hasPushes = true
        let insert = try prepared(PushStatements.insert)
        return try pushes.map { push in
            let inserted = try insert.run(
                push.receiptID, push.applicationKey, push.lane.rawValue, push.guarantee.rawValue, push.expiresAt,
                push.storedContent, push.storedAudience, push.platforms?.storedText, push.content.pacing.kind, now)
            return inserted > 0 ? Key(db.lastInsertedRowID) : nil
        }
    }

    /// A loose index scan finds the platforms with due work in a lane, one step for each.
    package func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid] {
        let next = try prepared(
            work == .batches ? SQLiteClaimStatements.nextBatchBid : SQLiteClaimStatements.nextFanOutBid)
        let now = now
        return { [self] lane in
            var bids: [Bid] = []
            var last = Key<Platform>(0)
            while let (platform, dueAt) = try next.first(
                lane.rawValue, last, as: { (Key<Platform>($0.integer(0)), $0.integer(1)) })
            {
                last = platform
                guard dueAt <= now.milliseconds, let status = try status(of: platform), status.isOpen(at: now) else {
                    continue
                }
                bids.append(
                    Bid(
                        platform: platform, application: status.application, tenant: status.tenant,
                        isProbe: status.parked != nil))
            }
            return bids
        }
    }

    /// Leases fan-outs, the longest due first, and sets aside those whose push cannot be read.
    package func leaseFanOuts(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [FanOut] {
        let due = try prepared(SQLiteClaimStatements.dueFanOuts).all(
            lane.rawValue, platform, now, limit, as: ClaimedFanOut.init)
        let lease = try prepared(SQLiteClaimStatements.leaseFanOut)
        return try due.compactMap { fanOut in
            try lease.run(end, fanOut.push, platform)
            return try self.fanOut(fanOut, on: platform)
        }
    }

    package func leaseBatches(
        in lane: Lane, on platform: Key<Platform>, atMost count: Int, of burst: Burst, until end: Instant
    ) throws -> [Batch] {
        let now = now
        var due: [ClaimedBatch] = []
        var room = count * burst.weightMax
        try prepared(SQLiteClaimStatements.dueBatches).scan(lane.rawValue, platform, now) { row in
            let claimed = try ClaimedBatch(row, in: lane, on: platform, at: now)
            due.append(claimed)
            room -= claimed.weight(in: burst)
            return room > 0 ? .next : .stop
        }
        return try lease(due, until: end)
    }

    /// There is no other node to wait for.
    package func takeBatches(in lane: Lane, on platform: Key<Platform>, atMost limit: Int) throws -> [Batch] {
        let now = now
        var due: [ClaimedBatch] = []
        try prepared(SQLiteClaimStatements.dueBatches).scan(lane.rawValue, platform, Instant.distantFuture) { row in
            due.append(try ClaimedBatch(row, in: lane, on: platform, at: now))
            return due.count < limit ? .next : .stop
        }
        return try lease(due, until: now)
    }

    private func lease(_ due: [ClaimedBatch], until end: Instant) throws -> [Batch] {
        let lease = try prepared(SQLiteClaimStatements.leaseBatch)
        return try due.compactMap { claimed in
            try lease.run(end, claimed.key)
            return try batch(claimed)
        }
    }
}

/// Claiming leases work; see `PostgresClaimStatements`.
enum SQLiteClaimStatements {
    /// One step of a loose index scan over `batch_due`.
    static let nextBatchBid = """
        SELECT platform_id, due_at_ms /* batches.next_bid */ FROM batch
         WHERE is_open = true AND lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// One step of a loose index scan over `fan_out_due`.
    static let nextFanOutBid = """
        SELECT platform_id, due_at_ms /* fan_outs.next_bid */ FROM fan_out
         WHERE lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// Scans `batch_due`. Attempt and claims are those after the claim.
    static let dueBatches = """
        SELECT id, push_id, attempt + 1, claim_count + 1, devices, answers, due_at_ms,
               coalesce(retry_at_ms, due_at_ms), is_cancelled /* batches.due */
          FROM batch
         WHERE is_open = true AND lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, id
        """

    static let leaseBatch = """
        UPDATE batch /* batches.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, claim_count = claim_count + 1
         WHERE id = ?2
        """

    /// Scans `fan_out_due`. The attempt is that after the claim.
    static let dueFanOuts = """
        SELECT push_id, attempt + 1, cursor, due_at_ms, is_cancelled /* fan_outs.due */ FROM fan_out
         WHERE lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, push_id
         LIMIT ?4
        """

    static let leaseFanOut = """
        UPDATE fan_out /* fan_outs.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, is_claimed = true
         WHERE push_id = ?2 AND platform_id = ?3
        """
}

extension SQLiteStore {
    /// Takes over the leases of a server before this one: none has to lapse first. Returns how many batches.
    ///
    /// Call it only where the other is certainly gone. Its claims count as lapsed, as they would after their leases: devices of an
    /// at-least-once push are sent to again, those of an at-most-once push become `unknown`.
    package func takeOver() async throws -> Int {
        try await write { session in
            let now = session.now
            let batches = try session.prepared(TakeoverStatements.batches).run(now)
            for sql in [TakeoverStatements.requests, TakeoverStatements.geofences] {
                try session.prepared(sql).run(now)
            }
            let fanOuts = try session.prepared(TakeoverStatements.fanOuts).all(now) {
                (claimed: ClaimedFanOut($0), platform: Key<Platform>($0.integer(5)))
            }
            for (claimed, platform) in fanOuts {
                guard let fanOut = try session.fanOut(claimed, on: platform) else { continue }
                let pause = fanOut.pause(behind: fanOut.devicesPerStep(atMost: .max)) ?? .zero
                let due = min(now + pause, Instant(milliseconds: claimed.dueAt))
                try session.prepared(TakeoverStatements.setFanOutDue).run(due, claimed.push, platform)
            }
            for sql in [TakeoverStatements.mirror, TakeoverStatements.nodes] { try session.prepared(sql).run() }
            try session.prepared(TakeoverStatements.probes).run(now)
            let services = try session.prepared(TakeoverStatements.services).all {
                (platform: $0.integer(0), parked: [ParkedService](stored: $0.text(1)))
            }
            for (platform, parked) in services {
                let tried = parked.map { ParkedService(origin: $0.origin, parking: $0.parking.probed(until: now)) }
                try session.prepared(PlatformStatements.setParkedServices).run(
                    tried.storedText, Key<Platform>(platform))
            }
            session.registryChanged()
            session.effects.due = .all
            return batches
        }
    }
}

/// The leases of a server that ended, each due at once.
private enum TakeoverStatements {
    /// Scans the open batches, by `batch_due`.
    static let batches = """
        UPDATE batch /* takeover.batches */ SET due_at_ms = ?1
         WHERE is_open = true AND claim_count > 0 AND due_at_ms > ?1
        """

    static let fanOuts = """
        SELECT push_id, attempt, cursor, due_at_ms, is_cancelled, platform_id /* takeover.fan_outs */ FROM fan_out
         WHERE is_claimed = true AND due_at_ms > ?1
        """

    /// A throttled one may have no lease, and pause between its steps: it is due within one pause.
    static let setFanOutDue = """
        UPDATE fan_out /* takeover.set_fan_out_due */ SET due_at_ms = ?1 WHERE push_id = ?2 AND platform_id = ?3
        """

    /// Requests with an `Idempotency-Key` that were not answered: none is running any more.
    static let requests = """
        UPDATE idempotency /* takeover.requests */ SET held_until_ms = ?1 WHERE held_until_ms > ?1
        """

    static let geofences = """
        UPDATE geofence_update /* takeover.geofences */ SET held_until_ms = ?1 WHERE held_until_ms > ?1
        """

    static let mirror = "DELETE FROM mirror_holder /* takeover.mirror */"

    /// No node is left that could be sending.
    static let nodes = "DELETE FROM node /* takeover.nodes */"

    static let services = """
        SELECT id, parked_services /* takeover.services */ FROM platform WHERE parked_services IS NOT NULL
        """

    /// Refused credentials are tried at once, whether or not an attempt was under way.
    static let probes = """
        UPDATE platform /* takeover.probes */ SET probe_at_ms = ?1 WHERE parked_cause = 'credentials' AND probe_at_ms > ?1
        """
}
