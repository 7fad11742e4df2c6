/// Divides claims among platforms with due work: lane by lane, and within a lane one for each tenant and application in turn.
struct Claims<Session: WriteSession> {
    let session: Session
    let turn: Int

    /// - Parameters:
    ///   - work: the kind of work to claim.
    ///   - end: when the leases end.
    ///   - take: leases up to so many of a platform in a lane, and returns them. What other nodes hold is passed over, so
    ///     there may be fewer. A burst is one.
    func claim<Leased>(
        _ work: ClaimedWork, atMost limit: Int, lanes: [Lane], until end: Instant, room: (Key<Platform>) -> Int,
        take: (Lane, Key<Platform>, Int) throws -> [Leased]
    ) throws -> [Leased] {
        var leased: [Leased] = []
        var taken: [Key<Platform>: Int] = [:]
        let bids = try session.bids(for: work, in: lanes)
        for lane in Set(lanes).sorted() where leased.count < limit {
            var open = try bids(lane)
            while leased.count < limit {
                let bidders = open.compactMap { $0.bidder(room: room($0.platform) - taken[$0.platform, default: 0]) }
                let shares = FairShare.divide(limit - leased.count, among: bidders, turn: turn)
                guard !shares.isEmpty else { break }
                for (platform, share) in shares.sorted(by: { $0.key < $1.key }) {
                    let isProbe = open.contains { $0.isProbe && $0.platform == platform }
                    if isProbe { open.removeAll { $0.platform == platform } }
                    if isProbe, work == .batches {
                        leased += try probe(platform, until: end) { try take(lane, platform, 1) }
                        continue
                    }
                    let more = try take(lane, platform, share)
                    taken[platform, default: 0] += more.count
                    leased += more
                    // It has no more; the next round gives the rest to others.
                    if more.count < share { open.removeAll { $0.platform == platform } }
                }
            }
        }
        return leased
    }
}

extension Claims {
    /// Refused credentials are tried again with one burst, by one worker.
    private func probe<Leased>(
        _ platform: Key<Platform>, until end: Instant, take: () throws -> [Leased]
    ) throws -> [Leased] {
        guard try session.takeProbe(of: platform, until: end) else { return [] }
        let leased = try take()
        if leased.isEmpty { try session.returnProbe(of: platform) }
        return leased
    }
}

/// The kind of work to claim.
package enum ClaimedWork {
    case batches, fanOuts
}

/// A platform with due work in a lane, and not parked, or to be tried again.
package struct Bid {
    let platform: Key<Platform>
    let application: Key<Application>
    let tenant: Key<Tenant>
    /// Whether it is parked, and its credentials are tried again.
    let isProbe: Bool

    fileprivate func bidder(room: Int) -> FairShare.Bidder? {
        guard room > 0 else { return nil }
        return FairShare.Bidder(
            tenant: tenant, application: application, platform: platform, room: isProbe ? 1 : room)
    }
}

/// A fan-out, from the columns push, attempt, cursor, due time and whether it is cancelled of its claim.
struct ClaimedFanOut {
    let push: Key<Push>
    fileprivate let attempt: Int64
    fileprivate let cursor: Key<Device>?
    let dueAt: Int64
    fileprivate let isCancelled: Bool

    init(_ row: some SQLRow) {
        push = Key(row.integer(0))
        attempt = row.integer(1)
        cursor = row.integerIfAny(2).map { Key($0) }
        dueAt = row.integer(3)
        isCancelled = row.bool(4)
    }
}

/// A batch, from the columns id, push, attempt, claims, devices, answers, due time, time of the next attempt and whether
/// it is cancelled of its claim.
struct ClaimedBatch {
    let key: Key<Batch>
    let dueAt: Int64
    /// nil when it cannot be read.
    fileprivate let batch: Batch?

    /// An unreadable batch ends a burst.
    func weight(in burst: Burst) -> Int { batch.map(burst.weight) ?? burst.weightMax }

    init(_ row: some SQLRow, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
        key = Key(row.integer(0))
        dueAt = row.integer(6)
        batch = try readable { try Batch(claimed: row, in: lane, on: platform, at: now) }
    }
}

extension Batch {
    fileprivate init(claimed row: some SQLRow, in lane: Lane, on platform: Key<Platform>, at now: Instant) throws {
        guard let devices = row.withBlob(4, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("batch \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), pushKey: Key(row.integer(1)), platformKey: platform, lane: lane,
            devices: devices, answers: try row.withBlob(5) { try [Answer](codes: $0, count: devices.count) },
            attempt: row.integer(2), isLapsed: row.integer(3) > 1,
            retryTimes: row.withBlob(5) {
                RetryTimes.inCodes($0, retryAt: Instant(milliseconds: row.integer(7)), now: now)
            }, isCancelled: row.bool(8))
    }
}

extension WriteSession {
    /// nil when its push cannot be read: the fan-out is set aside.
    func fanOut(_ claimed: ClaimedFanOut, on platform: Key<Platform>) throws -> FanOut? {
        guard let push = try readable({ try pushes.push(claimed.push, in: db) }) ?? nil else {
            try prepared(ClaimStatements.setFanOutAside).run(now + Damage.setAsideFor, claimed.push, platform)
            effects.damaged.append("push \(claimed.push)")
            return nil
        }
        let perMinute = push.perMinute(at: now)
        let platforms = try perMinute.flatMap { _ in
            try prepared(PushStatements.openFanOuts).first(push.key) { Int($0.integer(0)) }
        }
        return FanOut(
            pushKey: push.key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: claimed.cursor,
            attempt: claimed.attempt, isCancelled: claimed.isCancelled, perMinute: perMinute, platforms: platforms ?? 1)
    }

    /// nil when it cannot be read: the batch is set aside.
    func batch(_ claimed: ClaimedBatch) throws -> Batch? {
        if let batch = claimed.batch { return batch }
        try prepared(ClaimStatements.setBatchAside).run(now + Damage.setAsideFor, claimed.key)
        try noteDamage(claimed.key)
        return nil
    }
}

enum ClaimStatements {
    /// Undoes the claim, which no worker has seen.
    static let setBatchAside: SQLText = """
        UPDATE batch /* claims.set_batch_aside */ SET due_at_ms = $1, claim_count = claim_count - 1 WHERE id = $2
        """

    /// A fan-out that is not claimed is due at once, so one that is not was set aside.
    static let setFanOutAside: SQLText = """
        UPDATE fan_out /* claims.set_fan_out_aside */ SET due_at_ms = $1, is_claimed = false
         WHERE push_id = $2 AND platform_id = $3
        """
}

/// Divides the batches that may be claimed among tenants that have due ones: one for each tenant in turn, and within a tenant one for each
/// application in turn.
package enum FairShare {
    /// A platform of an application with batches due.
    package struct Bidder: Sendable, Hashable {
        package let tenant: Key<Tenant>
        package let application: Key<Application>
        package let platform: Key<Platform>
        /// The most batches that it may get.
        package let room: Int

        package init(tenant: Key<Tenant>, application: Key<Application>, platform: Key<Platform>, room: Int) {
            self.tenant = tenant
            self.application = application
            self.platform = platform
            self.room = room
        }
    }

    /// The number of batches that each platform gets, `batchesMax` together at most.
    ///
    /// - Parameter turn: which tenant goes first, modulo their number, and which of its applications; raised by the caller each time, so that
    ///   a remainder does not always go to the same.
    package static func divide(_ batchesMax: Int, among bidders: [Bidder], turn: Int) -> [Key<Platform>: Int] {
        let tenants = Dictionary(grouping: bidders.filter { $0.room > 0 }, by: \.tenant).sorted { $0.key < $1.key }
        var rounds = tenants.map { Round($0.value, turn: turn / tenants.count) }.rotated(by: turn)
        var shares: [Key<Platform>: Int] = [:]
        var left = batchesMax
        while left > 0, !rounds.isEmpty {
            for tenant in rounds.indices where left > 0 {
                shares[rounds[tenant].next(), default: 0] += 1
                left -= 1
            }
            rounds.removeAll { $0.queues.isEmpty }
        }
        return shares
    }

    /// The applications of a tenant in turn, each with its platforms in turn.
    private struct Round {
        var queues: ArraySlice<ArraySlice<(platform: Key<Platform>, room: Int)>>

        init(_ bidders: [Bidder], turn: Int) {
            queues =
                Dictionary(grouping: bidders, by: \.application).sorted { $0.key < $1.key }
                .map { $0.value.map { ($0.platform, $0.room) }[...] }.rotated(by: turn)[...]
        }

        mutating func next() -> Key<Platform> {
            var queue = queues.removeFirst()
            let (platform, room) = queue.removeFirst()
            if room > 1 { queue.append((platform, room - 1)) }
            if !queue.isEmpty { queues.append(queue) }
            return platform
        }
    }
}

extension Array {
    fileprivate func rotated(by turn: Int) -> [Element] {
        isEmpty ? [] : Array(self[(turn % count)...] + self[..<(turn % count)])
    }
}
