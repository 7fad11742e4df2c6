package import BelfryCore
import GRDB

extension SQLiteStore: DamageStore {
    package func damagedPageCount() async throws -> Int {
        try await read { db in try db.prepared(DamageStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    package func writeOffDamagedPages(of push: Key<Push>) async throws -> Int {
        try await writer.write { try $0.writeOffDamagedPages(of: push) }
    }
}

/// nil when the row makes no sense. What is the database's own trouble is thrown.
func readable<Value>(_ read: () throws -> Value) throws -> Value? {
    do {
        return try read()
    } catch let error as DatabaseError {
        throw error
    } catch {
        return nil
    }
}

extension WriteSession {
    /// Puts a page out of the way of the others; returns nil.
    func setAside(_ page: Key<Page>, now: Instant) throws -> Page? {
        try prepared(PageStatements.setAside).run(now + Damage.setAsideFor, page)
        try prepared(DamageStatements.note).run(page, now)
        effects.damaged.append("page \(page)")
        return nil
    }

    /// Puts a walk whose push cannot be read out of the way of the others; returns nil.
    func setAside(walkOf push: Key<Push>, on platform: Key<Platform>, now: Instant) throws -> Walk? {
        try prepared(WalkStatements.setAside).run(now + Damage.setAsideFor, push, platform)
        effects.damaged.append("push \(push)")
        return nil
    }

    fileprivate func writeOffDamagedPages(of push: Key<Push>) throws -> Int {
        let noted = try prepared(DamageStatements.ofPush).all(push) { row in
            (key: Key<Page>(row.integer(0)), page: DamagedPage(devices: row.blob(1), answers: row.blob(2)))
        }
        let damaged = noted.filter { !$0.page.isSound }
        guard !damaged.isEmpty else { return 0 }
        var skipped = 0
        for (key, page) in damaged {
            let answers = page.writtenOff
            try prepared(DamageStatements.close).run(answers.map(\.code), key)
            skipped += answers.count { $0 == .skipped(.damaged) }
        }
        try countAnew(push)
        let now = clock.now
        try prepared(PushStatements.settle).run(damaged.count, now, now, push)
        return skipped
    }

    /// What damage had been counted for is not known.
    private func countAnew(_ push: Key<Push>) throws {
        var counts = [Int](repeating: 0, count: 256)
        try prepared(ReceiptStatements.allAnswers).each(push) { row in
            row.withBlob(1) { codes in for code in codes { counts[Int(code)] += 1 } }
        }
        try prepared(DamageStatements.countDevices).run(counts.reduce(0, +), push)
        try prepared(DamageStatements.clearTally).run(push)
        let add = try prepared(TallyStatements.add)
        for (code, count) in counts.enumerated() where count > 0 && Answer(byte: UInt8(code)) != .pending {
            try add.run(push, code, count)
        }
    }
}

enum DamageStatements {
    static let note = """
        INSERT INTO damaged_page /* damage.note */ (page_id, push_id, found_at_ms)
        SELECT id, push_id, ?2 FROM page WHERE id = ?1
            ON CONFLICT (page_id) DO NOTHING
        """

    /// Goes from each note to its page, however many pages there are.
    static let count = """
        SELECT count(*) /* damage.count */ FROM damaged_page WHERE (SELECT is_open FROM page WHERE id = page_id)
        """

    /// Walks `damaged_page_push`.
    static let ofPush = """
        SELECT page.id, devices, answers /* damage.of_push */
          FROM damaged_page JOIN page ON page.id = page_id
         WHERE damaged_page.push_id = ?1 AND is_open = 1
        """

    /// A courier that still has it comes too late.
    static let close = """
        UPDATE page /* damage.close */ SET answers = ?1, is_open = 0, attempt = attempt + 1, carry_count = 0 WHERE id = ?2
        """

    static let countDevices = "UPDATE push_progress /* damage.count_devices */ SET device_count = ?1 WHERE push_id = ?2"

    static let clearTally = "DELETE FROM tally /* damage.clear_tally */ WHERE push_id = ?1"
}
