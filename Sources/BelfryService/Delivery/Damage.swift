extension Store {
    /// The number of open batches that are noted as unreadable.
    package func damagedBatchCount() async throws -> Int {
        try await readCommitted { db in try db.prepared(DamageStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    /// The number of fan-outs that are set aside.
    package func damagedFanOutCount() async throws -> Int {
        let now = clock.now
        return try await readCommitted { db in
            try db.prepared(DamageStatements.countFanOuts).first(now) { Int($0.integer(0)) } ?? 0
        }
    }

    /// The pushes of applications that have such batches or fan-outs, the newest first; only pushes whose head is readable.
    package func damagedPushes(of applications: [Key<Application>], limit: Int) async throws -> [PushHead] {
        let now = clock.now
        return try await readCommitted { [damagedRows] db in
            try db.prepared(DamageStatements.pushes).all(now, limit, SQLKeys(applications)) {
                try damagedRows.pushHead($0)
            }.compactMap(\.self)
        }
    }

    /// Closes the unreadable batches of a push: readable answers stay, all other devices become `skipped: damaged`, and
    /// the counters are recomputed. If the push itself is unreadable, all its open batches are closed and its fan-outs
    /// end.
    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff {
        try await write { try $0.writeOffDamage(of: push) }
    }
}

/// nil when the row is unreadable. Errors of the database itself are thrown.
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
    /// nil when the row is unreadable, which is reported. Errors of the database itself are thrown.
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
    /// Sets aside a batch that its delivery worker could not load, unless another worker has claimed it by now.
    func setAside(_ batch: Batch) throws {
        let changes = try prepared(DamageStatements.handBack).run(now + Damage.setAsideFor, batch.key, batch.attempt)
        guard changes > 0 else { return }
        try prepared(DamageStatements.note).run(batch.key, now)
        effects.damaged.append("push \(batch.pushKey)")
    }

    /// Notes a batch that a claim sets aside.
    func noteDamage(_ batch: Key<Batch>) throws {
        try prepared(DamageStatements.note).run(batch, now)
        effects.damaged.append("batch \(batch)")
    }

    /// Takes the locks in the order of fan-outs and settlements: fan-outs, batches, their push, its tally.
    fileprivate func writeOffDamage(of push: Key<Push>) throws -> WriteOff {
        let isReadable = try readable { try prepared(PushStatements.byKey).first(push, as: Push.init) } != nil
        let fanOuts = isReadable ? 0 : try endFanOuts(of: push)
        let lost = isReadable ? try damagedBatches(of: push) : try batches(DamageStatements.openOfPush, of: push)
        guard !lost.isEmpty else { return WriteOff(devices: 0, fanOuts: fanOuts) }
        var skipped = 0
        let close = try prepared(DamageStatements.close)
        for (key, platform, batch) in lost {
            let answers = batch.writtenOff
            try close.send(answers.map(\.code), now, key)
            let damaged = answers.count { $0 == .skipped(.damaged) }
            count(.failed, damaged, on: platform)
            skipped += damaged
        }
        try prepared(PushStatements.settle).run(lost.count, now, now, push)
        noteSettled(push)
        try countAnew(push)
        return WriteOff(devices: skipped, fanOuts: fanOuts)
    }

    private func endFanOuts(of push: Key<Push>) throws -> Int {
        let count = try prepared(DamageStatements.endFanOuts).run(push)
        if count > 0 {
            try prepared(PushStatements.advance).run(count, 0, 0, now, push)
            noteSettled(push)
        }
        return count
    }

    private func damagedBatches(of push: Key<Push>) throws -> [LostBatch] {
        try batches(DamageStatements.ofPush, of: push).filter { !$0.batch.isSound }
    }

    private func batches(_ sql: SQLText, of push: Key<Push>) throws -> [LostBatch] {
        try prepared(sql).all(push) { row in
            (
                key: Key(row.integer(0)), platform: Key(row.integer(3)),
                batch: DamagedBatch(devices: row.blob(1), answers: row.blob(2))
            )
        }
    }

    /// Counts the answers of a push again, since it is not known which answers of damaged batches were counted. Does nothing for a push
    /// that is counted by its batches. A settlement of another batch meanwhile waits for the push's row, and adds to the new counts, which
    /// lack that batch.
    private func countAnew(_ push: Key<Push>) throws {
        var tally = AnswerTally()
        try prepared(ReceiptStatements.allAnswers).each(push) { row in row.withBlob(1) { tally.add($0) } }
        guard try prepared(DamageStatements.countDevices).run(tally.devices, push) > 0 else { return }
        try prepared(DamageStatements.clearTally).send(push)
        for (answer, count) in tally.final {
            try prepared(TallyStatements.add).send(push, Int(answer.code), count)
        }
    }
}

private typealias LostBatch = (key: Key<Batch>, platform: Key<Platform>, batch: DamagedBatch)

enum DamageStatements {
    /// Undoes the claim entirely.
    static let handBack: SQLText = """
        UPDATE batch /* damage.hand_back */ SET due_at_ms = $1, claim_count = claim_count - 1
         WHERE id = $2 AND attempt = $3 AND is_open = true AND claim_count > 0
        """

    static let note: SQLText = """
        INSERT INTO damaged_batch /* damage.note */ (batch_id, push_id, found_at_ms)
        SELECT id, push_id, $2 FROM batch WHERE id = $1
            ON CONFLICT (batch_id) DO NOTHING
        """

    /// Goes from each note to its batch, however many batches there are.
    static let count: SQLText = """
        SELECT count(*) /* damage.count */ FROM damaged_batch WHERE (SELECT is_open FROM batch WHERE id = batch_id)
        """

    /// Scans `fan_out_due` from platform to platform, past what is due or claimed.
    static let countFanOuts: SQLText = """
        SELECT CAST(coalesce(sum((SELECT count(*) FROM fan_out
                                   WHERE fan_out.lane = lane.id AND platform_id = platform.id AND due_at_ms > $1
                                     AND NOT is_claimed)), 0) AS bigint) /* damage.count_fan_outs */
          FROM platform CROSS JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
        """

    /// Goes from each note to its batch, and scans `fan_out_due` as `countFanOuts` does.
    static let pushes: SQLText = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms /* damage.pushes */
          FROM push
         WHERE id IN (SELECT push_id FROM damaged_batch WHERE (SELECT is_open FROM batch WHERE id = batch_id)
                       UNION
                      SELECT fan_out.push_id
                        FROM platform CROSS JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
                        JOIN fan_out ON fan_out.lane = lane.id AND platform_id = platform.id
                             AND due_at_ms > $1 AND NOT is_claimed)
           AND application_id + 0 \(among: "$3")
         ORDER BY id DESC
         LIMIT $2
        """

    static let endFanOuts: SQLText = "DELETE FROM fan_out /* damage.end_fan_outs */ WHERE push_id = $1"

    /// Scans `damaged_batch_push`.
    static let ofPush: SQLText = """
        SELECT id, devices, answers, platform_id /* damage.of_push */ FROM batch
         WHERE id \(amongRows: "SELECT batch_id FROM damaged_batch WHERE push_id = $1") AND is_open
         ORDER BY id
           \(SQLText.forUpdate)
        """

    /// Scans `batch_device`.
    static let openOfPush: SQLText = """
        SELECT id, devices, answers, platform_id /* damage.open_of_push */ FROM batch
         WHERE id \(amongRows: "SELECT id FROM batch WHERE push_id = $1") AND is_open
         ORDER BY id
           \(SQLText.forUpdate)
        """

    /// A delivery worker that still has it settles too late.
    static let close: SQLText = """
        UPDATE batch /* damage.close */
           SET answers = $1, is_open = false, attempt = attempt + 1, claim_count = 0, due_at_ms = $2,
               answered_at_ms = coalesce(answered_at_ms, $2)
         WHERE id = $3
        """

    static let countDevices: SQLText =
        "UPDATE push_progress /* damage.count_devices */ SET device_count = $1 WHERE push_id = $2"

    static let clearTally: SQLText = "DELETE FROM tally /* damage.clear_tally */ WHERE push_id = $1"
}

/// The bytes of a batch's row: the readable part, and the answers after it is written off.
package struct DamagedBatch: Sendable, Hashable {
    private let devices: [Key<Device>]?
    private let codes: [UInt8]

    package init(devices: [UInt8], answers: [UInt8]) {
        self.devices = DeviceList.decode(devices)
        codes = answers
    }

    /// Whether the row is readable, having been mended.
    package var isSound: Bool { devices?.count == codes.count && codes.allSatisfy { Answer(byte: $0) != nil } }

    /// A final answer for each device. The number of devices is that of their list, or else the number of answers.
    package var writtenOff: [Answer] {
        guard let devices, devices.count != codes.count else { return codes.map(Self.kept) }
        // It is not known which answer belongs to which device.
        return devices.map { _ in .skipped(.damaged) }
    }

    private static func kept(_ code: UInt8) -> Answer {
        guard let answer = Answer(byte: code), answer != .pending else { return .skipped(.damaged) }
        return answer
    }
}
