import BelfryCore
import GRDB

extension SQLiteWriteSession {
    /// The platforms with something due in a lane are found by leaps through the index from one to the next.
    func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid] {
        let next = try prepared(
            work == .batches ? SQLiteClaimStatements.nextBatchBid : SQLiteClaimStatements.nextFanOutBid)
        let now = now.milliseconds
        return { [self] lane in
            var bids: [Bid] = []
            var last = Key<Platform>(0)
            while let (platform, dueAt) = try next.first(
                lane.rawValue, last, as: { (Key<Platform>($0.integer(0)), $0.integer(1)) })
            {
                last = platform
                guard dueAt <= now, let status = try status(of: platform), !status.isParked else { continue }
                bids.append(Bid(platform: platform, application: status.application))
            }
            return bids
        }
    }

    /// Leases fan-outs, the longest due first, and puts those out of the way whose push cannot be read.
    func leaseFanOuts(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [FanOut] {
        let due = try prepared(SQLiteClaimStatements.dueFanOuts).all(lane.rawValue, platform, now, limit) { row in
            (
                push: Key<Push>(row.integer(0)), attempt: row.integer(1),
                cursor: row.integerIfAny(2).map { Key<Device>($0) }
            )
        }
        let lease = try prepared(SQLiteClaimStatements.leaseFanOut)
        return try due.compactMap { fanOut in
            guard let push = try readable({ try pushes.push(fanOut.push, in: db) }) ?? nil else {
                try prepared(SQLiteClaimStatements.setFanOutAside).run(now + Damage.setAsideFor, fanOut.push, platform)
                effects.damaged.append("push \(fanOut.push)")
                return nil
            }
            try lease.run(end, fanOut.push, platform)
            return FanOut(
                pushKey: fanOut.push, platformKey: platform, lane: push.lane, audience: push.audience,
                cursor: fanOut.cursor, attempt: fanOut.attempt + 1)
        }
    }

    /// Leases batches, the longest due first, and puts those out of the way that cannot be read. There is no other
    /// node to wait for.
    func leaseBatches(
        in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant, waiting: Bool
    ) throws -> [Batch] {
        let now = now
        let due = try prepared(SQLiteClaimStatements.dueBatches).all(lane.rawValue, platform, dueBy, limit) { row in
            (
                key: Key<Batch>(row.integer(0)),
                batch: try readable { try Batch(claiming: row, in: lane, on: platform, at: now) }
            )
        }
        let lease = try prepared(SQLiteClaimStatements.leaseBatch)
        return try due.compactMap { key, batch in
            guard let batch else {
                try prepared(SQLiteClaimStatements.setBatchAside).run(now + Damage.setAsideFor, key)
                try noteDamage(key)
                return nil
            }
            try lease.run(end, key)
            return batch
        }
    }
}

extension Batch {
    /// From the columns of `SQLiteClaimStatements.dueBatches`, as they are before the claim.
    fileprivate init(claiming row: SQLiteRow, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
        guard let devices = row.withBlob(4, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("batch \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), pushKey: Key(row.integer(1)), platformKey: platform, lane: lane,
            devices: devices, answers: try row.withBlob(5) { try [Answer](codes: $0, count: devices.count) },
            attempt: row.integer(2) + 1, isLapsed: row.integer(3) > 0,
            retryTimes: row.withBlob(5) {
                RetryTimes.inCodes($0, retryAt: Instant(milliseconds: row.integer(6)), now: now)
            })
    }
}

/// What is claimed is leased by moving its due time to the end of the lease, so nothing ever needs rescuing.
enum SQLiteClaimStatements {
    /// One leap through `batch_due`.
    static let nextBatchBid = """
        SELECT platform_id, due_at_ms /* batches.next_bid */ FROM batch
         WHERE is_open = true AND lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// One leap through `fan_out_due`.
    static let nextFanOutBid = """
        SELECT platform_id, due_at_ms /* fan_outs.next_bid */ FROM fan_out
         WHERE lane = ?1 AND platform_id > ?2
         ORDER BY platform_id, due_at_ms
         LIMIT 1
        """

    /// Scans `batch_due`.
    static let dueBatches = """
        SELECT id, push_id, attempt, claim_count, devices, answers, coalesce(retry_at_ms, due_at_ms) /* batches.due */
          FROM batch
         WHERE is_open = true AND lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, id
         LIMIT ?4
        """

    static let leaseBatch = """
        UPDATE batch /* batches.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, claim_count = claim_count + 1
         WHERE id = ?2
        """

    static let setBatchAside = "UPDATE batch /* batches.set_aside */ SET due_at_ms = ?1 WHERE id = ?2"

    /// Scans `fan_out_due`.
    static let dueFanOuts = """
        SELECT push_id, attempt, cursor /* fan_outs.due */ FROM fan_out
         WHERE lane = ?1 AND platform_id = ?2 AND due_at_ms <= ?3
         ORDER BY due_at_ms, push_id
         LIMIT ?4
        """

    static let leaseFanOut = """
        UPDATE fan_out /* fan_outs.lease */
           SET due_at_ms = ?1, attempt = attempt + 1, is_claimed = true
         WHERE push_id = ?2 AND platform_id = ?3
        """

    /// One that was never claimed is due at once, so one that is not was set aside.
    static let setFanOutAside = """
        UPDATE fan_out /* fan_outs.set_aside */ SET due_at_ms = ?1, is_claimed = false
         WHERE push_id = ?2 AND platform_id = ?3
        """
}
