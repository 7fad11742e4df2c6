import BelfryCore

extension SQLStore {
    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        // Without the settlement the batch would be sent again, and devices notified twice.
        try await writeRetrying { session in try Settling(session: session).settle(settlements) }
    }
}

/// Writes settlements down, within a write.
///
/// What settlements write to the same row they write in the same order: platforms come before devices, as they do where
/// devices register, and pushes ascend. None waits for one that waits for it.
struct Settling<Session: WriteSession> {
    let session: Session

    /// What came of each, in order: false for one whose batch was claimed by another since, or is gone.
    func settle(_ settlements: [Settlement]) throws -> [Bool] {
        let leases = try leases(of: settlements)
        let held = settlements.compactMap { settlement in
            leases[settlement.batch.key].flatMap { $0.isHeld ? ($0, settlement) : nil }
        }
        try park(held.map(\.1))
        for (platform, settlements) in Dictionary(grouping: held.map(\.1), by: \.batch.platformKey).sorted(by: {
            $0.key < $1.key
        }) {
            try session.deactivate(settlements.flatMap(\.deadTokens), on: platform)
            try session.relocate(settlements.flatMap(\.moves), on: platform)
        }
        try write(held.map { ($0.answers, $1) })
        if held.contains(where: { $1.retryAt != nil }) { session.effects.fallsDue = true }
        // A caller that did not get the answer may repeat a settlement.
        return settlements.map { leases[$0.batch.key] != nil }
    }

    private struct Lease {
        let isHeld: Bool
        let answers: [Answer]
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
            leases[key] = Lease(isHeld: row.integer(2) > 0, answers: answers)
        }
        return leases
    }

    /// Waits for no answer: all statements are sent with the commit.
    ///
    /// - Parameter settlements: each with what its batch's row says.
    private func write(_ settlements: [(before: [Answer], settlement: Settlement)]) throws {
        var rows = SettledRows()
        var pushes: [Key<Push>: SettledPush] = [:]
        for (before, settlement) in settlements {
            let (codes, counts) = settlement.codes(over: before)
            let isOpen = counts[Int(Answer.pending.code)] > 0
            rows.append(settlement, codes, isOpen)
            pushes[settlement.batch.pushKey, default: SettledPush()].add(counts, closing: !isOpen)
            try session.countSent(counts[Int(Answer.accepted.code)], of: settlement.batch)
        }
        try rows.write(in: session)
        let now = session.now
        for (push, settled) in pushes.sorted(by: { $0.key < $1.key }) where settled.changes {
            try session.prepared(PushStatements.settle).send(
                settled.batchesClosed, settled.hasAnswers ? now : nil, now, push)
            let add = try session.prepared(TallyStatements.add)
            for (code, count) in settled.counts.enumerated() where count > 0 { try add.send(push, code, count) }
        }
    }

    private func park(_ settlements: [Settlement]) throws {
        for settlement in settlements {
            guard let halt = settlement.halt else { continue }
            let parking = halt.parking
            let parked = try session.prepared(PlatformStatements.parkUnlessParked).run(
                parking.cause.rawValue, parking.detail, parking.since, settlement.batch.platformKey,
                halt.credentialsVersion)
            if parked > 0 { session.registryChanged() }
        }
    }
}

/// What settlements make of the rows of their batches, column by column.
private struct SettledRows {
    private var answers: [[UInt8]] = []
    private var retries: [Instant?] = []
    private var areOpen: [Bool] = []
    private var keys: [Key<Batch>] = []

    mutating func append(_ settlement: Settlement, _ codes: [UInt8], _ isOpen: Bool) {
        answers.append(codes)
        retries.append(settlement.retryAt)
        areOpen.append(isOpen)
        keys.append(settlement.batch.key)
    }

    func write(in session: some WriteSession) throws {
        try session.prepared(BatchStatements.settle).sendEach(answers, retries, areOpen, keys)
    }
}

/// What settlements mean for the counters of a push.
private struct SettledPush {
    var batchesClosed = 0
    /// By the code of the answer, without those that wait.
    var counts = [Int](repeating: 0, count: 256)

    var hasAnswers: Bool { counts.contains { $0 > 0 } }
    var changes: Bool { batchesClosed > 0 || hasAnswers }

    mutating func add(_ counts: [Int], closing: Bool) {
        for (code, count) in counts.enumerated() where code != Answer.pending.code { self.counts[code] += count }
        if closing { batchesClosed += 1 }
    }
}
