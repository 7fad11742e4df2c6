package import BelfryCore
import GRDB

extension SQLiteStore: DeliveryStore {
    package func settle(_ settlement: Settlement) async throws -> Bool {
        try await writer.write { session in
            try Settling(session: session, settlement: settlement).settle()
        }
    }
}

/// Writes one settlement down, within a write.
struct Settling {
    let session: WriteSession
    let settlement: Settlement

    private var page: Page { settlement.page }

    func settle() throws -> Bool {
        guard let lease = try lease() else { return false }
        // Settled already: a caller that did not hear so may say it again.
        guard lease.isHeld else { return true }
        try write(over: lease.answers, now: session.clock.now)
        for death in settlement.deaths { try deactivate(death) }
        for move in settlement.moves {
            try Relocation(session: session, platform: page.platformKey, move: move).relocate()
        }
        if let halt = settlement.halt { try park(halt) }
        if settlement.retryAt != nil { session.effects.fallsDue = true }
        return true
    }

    private struct Lease {
        let isHeld: Bool
        let answers: [Answer]
    }

    /// nil when the page was claimed by another since, or is gone.
    private func lease() throws -> Lease? {
        try session.prepared(PageStatements.forSettling).first(page.key) { row -> Lease? in
            guard row.integer(0) == page.attempt else { return nil }
            let answers = try row.withBlob(3) { try [Answer](codes: $0, count: page.devices.count) }
            return Lease(isHeld: row.integer(1) > 0, answers: answers)
        } ?? nil
    }

    private func write(over answers: [Answer], now: Instant) throws {
        var (codes, counts) = settlement.codes(over: answers)
        let pending = counts[Int(Answer.pending.code)]
        counts[Int(Answer.pending.code)] = 0
        let isOpen = pending > 0
        try session.prepared(PageStatements.settle).run(codes, settlement.retryAt, isOpen, page.key)
        let add = try session.prepared(TallyStatements.add)
        for (code, count) in counts.enumerated() where count > 0 { try add.run(page.pushKey, code, count) }
        try session.countSent(counts[Int(Answer.accepted.code)], of: page)
        let hasAnswers = counts.contains { $0 > 0 }
        guard hasAnswers || !isOpen else { return }
        try session.prepared(PushStatements.settle).run(!isOpen, hasAnswers ? now : nil, now, page.pushKey)
    }

    private func deactivate(_ death: Settlement.Death) throws {
        guard
            let row = try session.device(death.device, on: page.platformKey),
            row.reach != .inactive, row.registeredAt < death.since
        else { return }
        try session.deactivate(row, on: page.platformKey)
    }

    private func park(_ halt: Settlement.Halt) throws {
        let parking = halt.parking
        try session.prepared(PlatformStatements.parkUnlessParked).run(
            parking.cause.rawValue, parking.detail, parking.since, page.platformKey, halt.credentialsVersion)
        if session.db.changesCount > 0 { session.rosterChanged() }
    }
}
