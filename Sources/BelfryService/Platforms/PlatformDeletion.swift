extension Store {
    /// Marks the platform deleted, which hides it at once, then deletes its rows in short steps. A restart resumes an
    /// interrupted deletion.
    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        try await write { session in
            guard let application = try session.prepared(PlatformStatements.lockForUpdate).number(platform) else {
                throw StoreError.unknown("platform \(platform)")
            }
            guard try force || !session.prepared(PlatformDeletionStatements.anyActive).hasRow(platform) else {
                throw StoreError.hasActiveDevices
            }
            try session.prepared(PlatformDeletionStatements.markDeleted).run(platform)
            if !Session.countsDeleted { session.quotaCounts.forget(QuotaAccount(.devices, of: Key(application))) }
            session.registryChanged()
        }
        while try await write({ try PlatformDeletion(session: $0).step(platform) }) {}
    }
}

/// Deletes the rows of deleted platforms. Devices that pushes have not answered yet get an answer, so that the counters
/// stay right.
struct PlatformDeletion<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }
    /// Batches and fan-outs ended in one step.
    private static var batchesAtOnce: Int { 50 }

    func resume() throws {
        let platform = try session.prepared(PlatformDeletionStatements.deleted).number()
        if let platform { _ = try step(Key(platform)) }
    }

    /// Ends or deletes some rows of the first kind that has any; false when nothing is left. Fan-outs come before the
    /// batches they would write, and devices before their posting lists, so that no merge brings one back.
    func step(_ platform: Key<Platform>) throws -> Bool {
        try session.awaitMerge()
        for lane in Lane.allCases where try endFanOuts(on: platform, in: lane) { return true }
        for lane in Lane.allCases where try answerBatches(on: platform, in: lane) { return true }
        if try deleteDevices(of: platform) { return true }
        let messages = try session.deleteMessages(
            WebPushStatements.deleteMessagesOfPlatform, platform, Self.stride)
        if !messages.isEmpty { return true }
        for sql in PlatformDeletionStatements.inOrder(of: Session.tables) {
            if try session.prepared(sql).run(platform, Self.stride) > 0 { return true }
        }
        return false
    }

    private func deleteDevices(of platform: Key<Platform>) throws -> Bool {
        let deleted = try session.prepared(PlatformDeletionStatements.devices).all(platform, Self.stride) {
            Key<Application>($0.integer(0))
        }
        if Session.countsDeleted, let application = deleted.first {
            session.note(-deleted.count, .devices, of: application)
        }
        return !deleted.isEmpty
    }

    private func endFanOuts(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        let pushes = try session.prepared(PlatformDeletionStatements.endFanOuts).all(
            lane.rawValue, platform, Self.batchesAtOnce
        ) { Key<Push>($0.integer(0)) }
        for push in pushes {
            try session.prepared(PushStatements.advance).send(1, 0, 0, session.now, push)
            session.noteSettled(push)
        }
        return !pushes.isEmpty
    }

    private func answerBatches(on platform: Key<Platform>, in lane: Lane) throws -> Bool {
        // The claim invalidates the settlement of a delivery worker that may be sending it.
        let batches = try session.takeBatches(in: lane, on: platform, atMost: Self.batchesAtOnce)
        let settlements = batches.map { batch in
            Settlement(
                batch: batch, answers: batch.answers.map { $0 == .pending ? .skipped(.missing) : $0 }, retryAt: nil)
        }
        _ = try SettlementWriter(session: session).settle(settlements)
        return !batches.isEmpty
    }
}

enum PlatformDeletionStatements {
    /// Scans `device_reach`, which covers it.
    static let anyActive: SQLText = """
        SELECT 1 /* platform_deletion.any_active */ FROM device WHERE platform_id = $1 AND reach > 0 LIMIT 1
        """

    static let markDeleted: SQLText = "UPDATE platform /* platform_deletion.mark */ SET is_deleted = true WHERE id = $1"

    static let deleted: SQLText = "SELECT id /* platform_deletion.deleted */ FROM platform WHERE is_deleted LIMIT 1"

    /// Scans `fan_out_due`.
    static let endFanOuts: SQLText = """
        DELETE FROM fan_out /* platform_deletion.end_fan_outs */
         WHERE platform_id = $2 AND push_id IN (
            SELECT push_id FROM fan_out WHERE lane = $1 AND platform_id = $2 LIMIT $3)
        RETURNING push_id
        """

    static func inOrder(of tables: [StoreTable]) -> [SQLText] {
        tables.reversed().compactMap(\.deleteOfPlatform) + [platform]
    }

    static let devices: SQLText = """
        DELETE FROM device /* platform_deletion.devices */
         WHERE id IN (SELECT id FROM device WHERE platform_id = $1 LIMIT $2)
        RETURNING (SELECT application_id FROM platform WHERE platform.id = $1)
        """

    static let platform: SQLText = """
        DELETE FROM platform /* platform_deletion.platform */
         WHERE id IN (SELECT id FROM platform WHERE id = $1 AND is_deleted LIMIT $2)
           AND NOT EXISTS (SELECT 1 FROM batch WHERE is_open = true AND lane IN (0, 1, 2) AND platform_id = $1)
           AND NOT EXISTS (SELECT 1 FROM fan_out WHERE lane IN (0, 1, 2) AND platform_id = $1)
        """
}
