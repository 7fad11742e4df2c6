import BelfryCore

extension SQLStore {
    package func settle(_ settlement: Settlement) async throws -> Bool {
        // Without the settlement the batch would be sent again, and devices notified twice.
        try await insist { session in try Settling(session: session, settlement: settlement).settle() }
    }
}

/// Writes one settlement, within a write.
///
/// Rows shared by several settlements are written in a fixed order, platforms before devices, to avoid deadlocks.
struct Settling<Session: WriteSession> {
    let session: Session
    let settlement: Settlement

    private var batch: Batch { settlement.batch }

    func settle() throws -> Bool {
        guard let lease = try lease() else { return false }
        // Settled already: a caller that did not get the answer may repeat it.
        guard lease.isHeld else { return true }
        if let halt = settlement.halt { try park(halt) }
        try session.delete(settlement.deadTokens, on: batch.platformKey)
        try session.relocate(settlement.moves, on: batch.platformKey)
        try write(over: lease.answers)
        if settlement.retryAt != nil { session.effects.fallsDue = true }
        return true
    }

    private struct Lease {
        let isHeld: Bool
        let answers: [Answer]
    }

    /// nil when the batch was claimed by another worker since, or was deleted.
    private func lease() throws -> Lease? {
        try session.prepared(BatchStatements.forSettling).first(batch.key) { row -> Lease? in
            guard row.integer(0) == batch.attempt else { return nil }
            let answers = try row.withBlob(3) { try [Answer](codes: $0, count: batch.devices.count) }
            return Lease(isHeld: row.integer(1) > 0, answers: answers)
        } ?? nil
    }

    /// Waits for no answer: all statements are sent with the commit.
    private func write(over answers: [Answer]) throws {
        let now = session.now
        var (codes, counts) = settlement.codes(over: answers)
        let pending = counts[Int(Answer.pending.code)]
        counts[Int(Answer.pending.code)] = 0
        let isOpen = pending > 0
        try session.prepared(BatchStatements.settle).send(codes, settlement.retryAt, isOpen, batch.key)
        let hasAnswers = counts.contains { $0 > 0 }
        guard hasAnswers || !isOpen else { return }
        try session.prepared(PushStatements.settle).send(
            isOpen ? 0 : 1, hasAnswers ? now : nil, now, batch.pushKey)
        let add = try session.prepared(TallyStatements.add)
        for (code, count) in counts.enumerated() where count > 0 { try add.send(batch.pushKey, code, count) }
        try session.countSent(counts[Int(Answer.accepted.code)], of: batch)
    }

    private func park(_ halt: Settlement.Halt) throws {
        let parking = halt.parking
        let parked = try session.prepared(PlatformStatements.parkUnlessParked).run(
            parking.cause.rawValue, parking.detail, parking.since, batch.platformKey, halt.credentialsVersion)
        if parked > 0 { session.registryChanged() }
    }
}
