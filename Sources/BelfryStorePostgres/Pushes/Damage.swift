package import BelfryCore
import PostgreSQL

extension PostgresStore: DamageStore {
    package func damagedPageCount() async throws -> Int {
        try await glance { db in try db.prepared(DamageStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    package func writeOffDamagedPages(of push: Key<Push>) async throws -> Int {
        try await write { try $0.writeOffDamagedPages(of: push) }
    }
}

/// nil when the row makes no sense. What is the database's own trouble is thrown.
func readable<Value>(_ read: () throws -> Value) throws -> Value? {
    do {
        return try read()
    } catch let error as PostgresError {
        throw error
    } catch {
        return nil
    }
}

extension WriteSession {
    /// Puts a page that was just claimed out of the way of the others; returns nil.
    func setAside(_ page: Key<Page>) throws -> Page? {
        try prepared(DamageStatements.setPageAside).run(now + Damage.setAsideFor, page)
        try prepared(DamageStatements.note).run(page, now)
        effects.damaged.append("page \(page)")
        return nil
    }

    /// Puts a walk whose push cannot be read out of the way of the others; returns nil.
    func setAside(walkOf push: Key<Push>, on platform: Key<Platform>) throws -> Walk? {
        try prepared(DamageStatements.setWalkAside).run(now + Damage.setAsideFor, push, platform)
        effects.damaged.append("push \(push)")
        return nil
    }

    /// Takes the locks in the order of a settlement: pages, their push, its tally.
    fileprivate func writeOffDamagedPages(of push: Key<Push>) throws -> Int {
        let noted = try prepared(DamageStatements.ofPush).all(push) { row in
            (key: Key<Page>(row.integer(0)), page: DamagedPage(devices: row.blob(1), answers: row.blob(2)))
        }
        let damaged = noted.filter { !$0.page.isSound }
        guard !damaged.isEmpty else { return 0 }
        var skipped = 0
        for (key, page) in damaged {
            let answers = page.writtenOff
            try prepared(DamageStatements.close).send(answers.map(\.code), key)
            skipped += answers.count { $0 == .skipped(.damaged) }
        }
        try prepared(PushStatements.settle).run(damaged.count, now, now, push)
        try countAnew(push)
        return skipped
    }

    /// What damage had been counted for is not known. Whoever settles another page meanwhile waits for the push's row, and adds
    /// to what is counted here without that page.
    private func countAnew(_ push: Key<Push>) throws {
        var counts = [Int](repeating: 0, count: 256)
        try prepared(ReceiptStatements.allAnswers).each(push) { row in
            row.withBlob(1) { codes in for code in codes { counts[Int(code)] += 1 } }
        }
        try prepared(DamageStatements.countDevices).send(counts.reduce(0, +), push)
        try prepared(DamageStatements.clearTally).send(push)
        for (code, count) in counts.enumerated() where count > 0 && Answer(byte: UInt8(code)) != .pending {
            try prepared(TallyStatements.add).send(push, code, count)
        }
    }
}

enum DamageStatements {
    /// Takes the claim back, which nobody heard of.
    static let setPageAside = """
        UPDATE page /* damage.set_page_aside */ SET due_at_ms = $1, carry_count = carry_count - 1 WHERE id = $2
        """

    static let setWalkAside = """
        UPDATE walk /* damage.set_walk_aside */ SET due_at_ms = $1 WHERE push_id = $2 AND platform_id = $3
        """

    static let note = """
        INSERT INTO damaged_page /* damage.note */ (page_id, push_id, found_at_ms)
        SELECT id, push_id, $2 FROM page WHERE id = $1
            ON CONFLICT (page_id) DO NOTHING
        """

    /// Goes from each note to its page, however many pages there are.
    static let count = """
        SELECT count(*) /* damage.count */ FROM damaged_page WHERE (SELECT is_open FROM page WHERE id = page_id)
        """

    /// Walks `damaged_page_push`.
    static let ofPush = """
        SELECT id, devices, answers /* damage.of_push */ FROM page
         WHERE id = ANY (ARRAY(SELECT page_id FROM damaged_page WHERE push_id = $1)) AND is_open
         ORDER BY id
           FOR UPDATE
        """

    /// A courier that still has it comes too late.
    static let close = """
        UPDATE page /* damage.close */ SET answers = $1, is_open = false, attempt = attempt + 1, carry_count = 0
         WHERE id = $2
        """

    static let countDevices = "UPDATE push_progress /* damage.count_devices */ SET device_count = $1 WHERE push_id = $2"

    static let clearTally = "DELETE FROM tally /* damage.clear_tally */ WHERE push_id = $1"
}
