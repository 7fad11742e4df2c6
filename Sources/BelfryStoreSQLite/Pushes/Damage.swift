package import BelfryCore
import GRDB

extension SQLiteStore: DamageStore {
    package func damagedPageCount() async throws -> Int {
        try await read { db in try db.prepared(DamageStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    package func damagedWalkCount() async throws -> Int {
        let now = clock.now
        return try await read { db in
            try db.prepared(DamageStatements.countWalks).first(now) { Int($0.integer(0)) } ?? 0
        }
    }

    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff {
        try await writer.write { try $0.writeOffDamage(of: push) }
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

extension DamagedRows {
    /// nil when the row makes no sense, which is reported. What is the database's own trouble is thrown.
    ///
    /// - Parameter row: its kind and number.
    func readable<Value>(_ row: @autoclosure () -> String, _ read: () throws -> Value) throws -> Value? {
        do {
            return try read()
        } catch let error as DatabaseError {
            throw error
        } catch {
            note(row(), error)
            return nil
        }
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

    /// Puts a page that its courier could not load out of the way of the others, unless another has it by now.
    func setAside(_ page: Page, now: Instant) throws {
        try prepared(DamageStatements.handBack).run(now + Damage.setAsideFor, page.key, page.attempt)
        guard db.changesCount > 0 else { return }
        try prepared(DamageStatements.note).run(page.key, now)
        effects.damaged.append("push \(page.pushKey)")
    }

    fileprivate func writeOffDamage(of push: Key<Push>) throws -> WriteOff {
        let isReadable = try readable { try prepared(PushStatements.byKey).first(push, as: Push.init) } != nil
        let walks = isReadable ? 0 : try endWalks(of: push)
        let lost = isReadable ? try damagedPages(of: push) : try pages(DamageStatements.openOfPush, of: push)
        guard !lost.isEmpty else { return WriteOff(devices: 0, walks: walks) }
        var skipped = 0
        for (key, page) in lost {
            let answers = page.writtenOff
            try prepared(DamageStatements.close).run(answers.map(\.code), key)
            skipped += answers.count { $0 == .skipped(.damaged) }
        }
        try countAnew(push)
        let now = clock.now
        try prepared(PushStatements.settle).run(lost.count, now, now, push)
        return WriteOff(devices: skipped, walks: walks)
    }

    private func endWalks(of push: Key<Push>) throws -> Int {
        try prepared(DamageStatements.endWalks).run(push)
        let count = db.changesCount
        if count > 0 { try prepared(PushStatements.advance).run(count, 0, 0, clock.now, push) }
        return count
    }

    private func damagedPages(of push: Key<Push>) throws -> [(key: Key<Page>, page: DamagedPage)] {
        try pages(DamageStatements.ofPush, of: push).filter { !$0.page.isSound }
    }

    private func pages(_ sql: String, of push: Key<Push>) throws -> [(key: Key<Page>, page: DamagedPage)] {
        try prepared(sql).all(push) { row in
            (key: Key(row.integer(0)), page: DamagedPage(devices: row.blob(1), answers: row.blob(2)))
        }
    }

    /// What damage had been counted for is not known.
    private func countAnew(_ push: Key<Push>) throws {
        var tally = AnswerTally()
        try prepared(ReceiptStatements.allAnswers).each(push) { row in row.withBlob(1) { tally.add($0) } }
        try prepared(DamageStatements.countDevices).run(tally.devices, push)
        try prepared(DamageStatements.clearTally).run(push)
        for (answer, count) in tally.final {
            try prepared(TallyStatements.add).run(push, Int(answer.code), count)
        }
    }
}

enum DamageStatements {
    /// Takes the claim back, as if it had never been.
    static let handBack = """
        UPDATE page /* damage.hand_back */ SET due_at_ms = ?1, carry_count = carry_count - 1
         WHERE id = ?2 AND attempt = ?3 AND is_open = 1 AND carry_count > 0
        """

    static let note = """
        INSERT INTO damaged_page /* damage.note */ (page_id, push_id, found_at_ms)
        SELECT id, push_id, ?2 FROM page WHERE id = ?1
            ON CONFLICT (page_id) DO NOTHING
        """

    /// Goes from each note to its page, however many pages there are.
    static let count = """
        SELECT count(*) /* damage.count */ FROM damaged_page WHERE (SELECT is_open FROM page WHERE id = page_id)
        """

    /// Walks `walk_due` from platform to platform, past what is due or claimed.
    static let countWalks = """
        SELECT coalesce(sum((SELECT count(*) FROM walk
                              WHERE walk.lane = lane.id AND platform_id = platform.id AND due_at_ms > ?1
                                AND is_claimed = 0)), 0) /* damage.count_walks */
          FROM platform JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
        """

    static let endWalks = "DELETE FROM walk /* damage.end_walks */ WHERE push_id = ?1"

    /// Walks `damaged_page_push`.
    static let ofPush = """
        SELECT page.id, devices, answers /* damage.of_push */
          FROM damaged_page JOIN page ON page.id = page_id
         WHERE damaged_page.push_id = ?1 AND is_open = 1
        """

    /// Walks `page_device`; a term with a plus before it is looked up in no index.
    static let openOfPush = """
        SELECT id, devices, answers /* damage.open_of_push */ FROM page WHERE push_id = ?1 AND +is_open = 1
        """

    /// A courier that still has it comes too late.
    static let close = """
        UPDATE page /* damage.close */ SET answers = ?1, is_open = 0, attempt = attempt + 1, carry_count = 0 WHERE id = ?2
        """

    static let countDevices = "UPDATE push_progress /* damage.count_devices */ SET device_count = ?1 WHERE push_id = ?2"

    static let clearTally = "DELETE FROM tally /* damage.clear_tally */ WHERE push_id = ?1"
}
