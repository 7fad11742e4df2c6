import BelfryCore

extension SQLStore {
    package func damagedPageCount() async throws -> Int {
        try await glance { db in try db.prepared(DamageStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    package func damagedWalkCount() async throws -> Int {
        let now = clock.now
        return try await glance { db in
            try db.prepared(DamageStatements.countWalks).first(now) { Int($0.integer(0)) } ?? 0
        }
    }

    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff {
        try await write { try $0.writeOffDamage(of: push) }
    }
}

/// nil when the row makes no sense. What is the database's own trouble is thrown.
func readable<Value>(_ read: () throws -> Value) throws -> Value? {
    do {
        return try read()
    } catch let error as any EngineError {
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
        } catch let error as any EngineError {
            throw error
        } catch {
            note(row(), error)
            return nil
        }
    }
}

extension WriteSession {
    /// Puts a page that its courier could not load out of the way of the others, unless another has it by now.
    func setAside(_ page: Page) throws {
        let changes = try prepared(DamageStatements.handBack).run(now + Damage.setAsideFor, page.key, page.attempt)
        guard changes > 0 else { return }
        try prepared(DamageStatements.note).run(page.key, now)
        effects.damaged.append("push \(page.pushKey)")
    }

    /// Notes a page that a claim puts out of the way of the others.
    func noteDamage(_ page: Key<Page>) throws {
        try prepared(DamageStatements.note).run(page, now)
        effects.damaged.append("page \(page)")
    }

    /// Takes the locks in the order of those who spread and settle: walks, pages, their push, its tally.
    fileprivate func writeOffDamage(of push: Key<Push>) throws -> WriteOff {
        let isReadable = try readable { try prepared(PushStatements.byKey).first(push, as: Push.init) } != nil
        let walks = isReadable ? 0 : try endWalks(of: push)
        let lost = isReadable ? try damagedPages(of: push) : try pages(DamageStatements.openOfPush, of: push)
        guard !lost.isEmpty else { return WriteOff(devices: 0, walks: walks) }
        var skipped = 0
        let close = try prepared(DamageStatements.close)
        for (key, page) in lost {
            let answers = page.writtenOff
            try close.send(answers.map(\.code), key)
            skipped += answers.count { $0 == .skipped(.damaged) }
        }
        try prepared(PushStatements.settle).run(lost.count, now, now, push)
        try countAnew(push)
        return WriteOff(devices: skipped, walks: walks)
    }

    private func endWalks(of push: Key<Push>) throws -> Int {
        let count = try prepared(DamageStatements.endWalks).run(push)
        if count > 0 { try prepared(PushStatements.advance).run(count, 0, 0, now, push) }
        return count
    }

    private func damagedPages(of push: Key<Push>) throws -> [(key: Key<Page>, page: DamagedPage)] {
        try pages(DamageStatements.ofPush, of: push).filter { !$0.page.isSound }
    }

    private func pages(_ sql: SQLText, of push: Key<Push>) throws -> [(key: Key<Page>, page: DamagedPage)] {
        try prepared(sql).all(push) { row in
            (key: Key(row.integer(0)), page: DamagedPage(devices: row.blob(1), answers: row.blob(2)))
        }
    }

    /// What damage had been counted for is not known. Whoever settles another page meanwhile waits for the push's row, and adds
    /// to what is counted here without that page.
    private func countAnew(_ push: Key<Push>) throws {
        var tally = AnswerTally()
        try prepared(ReceiptStatements.allAnswers).each(push) { row in row.withBlob(1) { tally.add($0) } }
        try prepared(DamageStatements.countDevices).send(tally.devices, push)
        try prepared(DamageStatements.clearTally).send(push)
        for (answer, count) in tally.final {
            try prepared(TallyStatements.add).send(push, Int(answer.code), count)
        }
    }
}

enum DamageStatements {
    /// Takes the claim back, as if it had never been.
    static let handBack: SQLText = """
        UPDATE page /* damage.hand_back */ SET due_at_ms = $1, carry_count = carry_count - 1
         WHERE id = $2 AND attempt = $3 AND is_open = true AND carry_count > 0
        """

    static let note: SQLText = """
        INSERT INTO damaged_page /* damage.note */ (page_id, push_id, found_at_ms)
        SELECT id, push_id, $2 FROM page WHERE id = $1
            ON CONFLICT (page_id) DO NOTHING
        """

    /// Goes from each note to its page, however many pages there are.
    static let count: SQLText = """
        SELECT count(*) /* damage.count */ FROM damaged_page WHERE (SELECT is_open FROM page WHERE id = page_id)
        """

    /// Walks `walk_due` from platform to platform, past what is due or claimed.
    static let countWalks: SQLText = """
        SELECT CAST(coalesce(sum((SELECT count(*) FROM walk
                                   WHERE walk.lane = lane.id AND platform_id = platform.id AND due_at_ms > $1
                                     AND NOT is_claimed)), 0) AS bigint) /* damage.count_walks */
          FROM platform CROSS JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
        """

    static let endWalks: SQLText = "DELETE FROM walk /* damage.end_walks */ WHERE push_id = $1"

    /// Walks `damaged_page_push`.
    static let ofPush: SQLText = """
        SELECT id, devices, answers /* damage.of_push */ FROM page
         WHERE id \(amongRows: "SELECT page_id FROM damaged_page WHERE push_id = $1") AND is_open
         ORDER BY id
           \(SQLText.forUpdate)
        """

    /// Walks `page_device`.
    static let openOfPush: SQLText = """
        SELECT id, devices, answers /* damage.open_of_push */ FROM page
         WHERE id \(amongRows: "SELECT id FROM page WHERE push_id = $1") AND is_open
         ORDER BY id
           \(SQLText.forUpdate)
        """

    /// A courier that still has it comes too late.
    static let close: SQLText = """
        UPDATE page /* damage.close */ SET answers = $1, is_open = false, attempt = attempt + 1, carry_count = 0
         WHERE id = $2
        """

    static let countDevices: SQLText =
        "UPDATE push_progress /* damage.count_devices */ SET device_count = $1 WHERE push_id = $2"

    static let clearTally: SQLText = "DELETE FROM tally /* damage.clear_tally */ WHERE push_id = $1"
}
