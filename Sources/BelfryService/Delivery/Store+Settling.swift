// Written for each engine, since the compiler specialises it so, and one for both cost a quarter more.

extension SQLiteStore {
    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        try await write { try SettlementWriter(session: $0).settle(settlements) }
    }
}

extension PostgresStore {
    /// Without the settlement the batch would be sent again, and devices notified twice: it is tried again.
    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        try await retrying { try await self.settlements.put(settlements, in: self) }
    }
}

/// Writes settlements down, within a write.
///
/// What settlements write to the same row they write in the same order: platforms come before devices, as they do where
/// devices register, and pushes ascend. None waits for one that waits for it.
struct SettlementWriter<Session: WriteSession> {
    let session: Session

    /// Writes settlements, and returns for each, in order, whether it counted: false where another worker claimed the batch since, or the
    /// batch is gone.
    func settle(_ settlements: [Settlement]) throws -> [Bool] {
        let leases = try leases(of: settlements)
        let held = settlements.compactMap { settlement -> (Lease, Settlement)? in
            guard let lease = leases[settlement.batch.key], lease.isHeld else { return nil }
            return (lease, lease.isCancelled ? settlement.cancellingRetries : settlement)
        }
        try park(held.map(\.1))
        for (platform, settlements) in Dictionary(grouping: held.map(\.1), by: \.batch.platformKey).sorted(by: {
            $0.key < $1.key
        }) {
            let (deadTokens, moves) = (settlements.flatMap(\.deadTokens), settlements.flatMap(\.moves))
            // What was on its way when the platform was parked is not believed either.
            guard !deadTokens.isEmpty || !moves.isEmpty,
                try !session.prepared(PlatformStatements.isDoubted).hasRow(platform)
            else { continue }
            try session.deactivate(deadTokens, on: platform, as: .gone)
            try session.noteFeedback(of: deadTokens, on: platform)
            try session.relocate(moves, on: platform)
        }
        try write(held)
        if held.contains(where: { $1.retryAt != nil }) { session.effects.due.insert(.batches) }
        // A caller that did not get the answer may repeat a settlement.
        return settlements.map { leases[$0.batch.key] != nil }
    }

    private struct Lease {
        let isHeld: Bool
        let answers: [Answer]
        /// Whether the push's counts are read from its batches.
        let isWhole: Bool
        /// Whether its push was cancelled since it was claimed.
        let isCancelled: Bool
    }

    /// The leases of batches that were not claimed again since.
    private func leases(of settlements: [Settlement]) throws -> [Key<Batch>: Lease] {
        let batches = Dictionary(
            settlements.map { ($0.batch.key, $0.batch) }, uniquingKeysWith: { first, _ in first })
        var leases: [Key<Batch>: Lease] = [:]
        try session.prepared(BatchStatements.forSettling).each(SQLKeys(batches.keys.sorted())) { row in
            let key = Key<Batch>(row.integer(0))
            guard let batch = batches[key], row.integer(1) == batch.attempt else { return }
            let answers = try row.withBlob(3) { try [Answer](codes: $0, count: batch.devices.count) }
            leases[key] = Lease(
                isHeld: row.integer(2) > 0, answers: answers, isWhole: row.bool(4), isCancelled: row.bool(5))
        }
        return leases
    }

    /// Waits for no answer: all statements are sent with the commit.
    ///
    /// - Parameter settlements: each with what its batch's row says.
    private func write(_ settlements: [(lease: Lease, settlement: Settlement)]) throws {
        let now = session.now
        var rows = SettledRows()
        var pushes: [Key<Push>: SettledPush] = [:]
        var sent = SentCounts()
        var notes: [Key<Batch>: AttemptNote] = [:]
        for (lease, settlement) in settlements {
            let (codes, counts) = settlement.codes(over: lease.answers)
            let settled = SettledPush(counts)
            rows.append(settlement, codes, settled, at: now)
            if let note = settlement.note { notes[settlement.batch.key] = note }
            let (accepted, platform) = (counts[Int(Answer.accepted.code)], settlement.batch.platformKey)
            sent.add(accepted, of: settlement, isOfPush: !lease.isWhole)
            if let acceptedAt = settlement.acceptedAt {
                session.count(accepted: accepted, ofPushFrom: acceptedAt, on: platform)
            }
            session.count(.failed, settled.answered - accepted, on: platform)
            if settled.batchesClosed > 0 { session.noteSettled(settlement.batch.pushKey) }
            if !lease.isWhole { pushes[settlement.batch.pushKey, default: SettledPush()].add(settled) }
        }
        try rows.write(in: session)
        try session.write(notes)
        for (push, settled) in pushes.sorted(by: { $0.key < $1.key }) where settled.changes {
            try session.prepared(PushStatements.settle).send(
                settled.batchesClosed, settled.hasAnswers ? now : nil, now, push)
            let add = try session.prepared(TallyStatements.add)
            for (code, count) in settled.counts.sorted(by: { $0.code < $1.code }) { try add.send(push, code, count) }
        }
        // Last, since all settlements of a platform write the same row.
        try sent.write(in: session)
    }

    private func park(_ settlements: [Settlement]) throws {
        for settlement in settlements {
            guard let parkRequest = settlement.parkRequest else { continue }
            let parking = parkRequest.parking
            let parked = try session.prepared(PlatformStatements.parkUnlessParked).run(
                parking.cause.rawValue, parking.detail, parking.since, settlement.batch.platformKey,
                parkRequest.credentialsVersion, parking.probe?.at, parking.probe?.count ?? 0)
            let postponed =
                try (parking.cause == .credentials ? parkRequest.probe : nil).map { probe in
                    let next = probe.refused(at: session.now)
                    return try session.prepared(ProbeStatements.refused).run(
                        parking.detail, next.at, next.count, settlement.batch.platformKey,
                        parkRequest.credentialsVersion, probe.count)
                } ?? 0
            if parked + postponed > 0 { session.registryChanged() }
            if parked > 0 { try session.tellParked(settlement.batch.platformKey, parking) }
        }
    }
}

/// The settled rows of batches, as an array for each column.
private struct SettledRows {
    private var answers: [[UInt8]] = []
    private var retries: [Instant?] = []
    private var dues: [Instant] = []
    private var areOpen: [Bool] = []
    private var answeredAt: [Instant?] = []
    private var keys: [Key<Batch>] = []

    mutating func append(_ settlement: Settlement, _ codes: [UInt8], _ settled: SettledPush, at now: Instant) {
        answers.append(codes)
        retries.append(settlement.retryAt)
        dues.append(settlement.retryAt ?? now)
        areOpen.append(settled.batchesClosed == 0)
        answeredAt.append(settled.hasAnswers ? now : nil)
        keys.append(settlement.batch.key)
    }

    func write(in session: some WriteSession) throws {
        try session.prepared(BatchStatements.settle).sendEach(answers, retries, dues, areOpen, answeredAt, keys)
    }
}

/// The changes of a push's counters by settlements.
private struct SettledPush {
    private(set) var batchesClosed = 0
    /// Numbers of devices by the code of their answer, without those that wait.
    private(set) var counts: [(code: Int, count: Int)] = []

    var hasAnswers: Bool { !counts.isEmpty }
    var answered: Int { counts.reduce(0) { $0 + $1.count } }
    var changes: Bool { batchesClosed > 0 || hasAnswers }

    init() {}

    /// - Parameter counts: of a batch, by the code of the answer.
    init(_ counts: [Int]) {
        batchesClosed = counts[Int(Answer.pending.code)] == 0 ? 1 : 0
        for (code, count) in counts.enumerated() where count > 0 && code != Answer.pending.code {
            self.counts.append((code, count))
        }
    }

    mutating func add(_ other: SettledPush) {
        batchesClosed += other.batchesClosed
        for (code, count) in other.counts {
            if let place = counts.firstIndex(where: { $0.code == code }) {
                counts[place].count += count
            } else {
                counts.append((code, count))
            }
        }
    }
}
