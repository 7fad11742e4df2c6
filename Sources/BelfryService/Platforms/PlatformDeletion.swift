extension Store {
    /// Marks the platform deleted, which hides it at once, then deletes its rows in short steps. What takes longer than
    /// `deletionMax`, or was interrupted, the maintenance goes on with.
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
        var rest: PlatformRest? = PlatformRest(platform: platform)
        let end = clock.now + Self.deletionMax
        while let next = rest, clock.now < end {
            rest = try await write { try PlatformDeletion(session: $0).step(next) }
        }
    }
}

/// The rest of a deletion.
struct PlatformRest: Sendable {
    let platform: Key<Platform>
    /// Topics up to this name have no posting lists of the platform: its devices are gone, and no merge adds to them.
    var lastTopic = ""
}

/// Deletes the rows of deleted platforms. Devices that pushes have not answered yet get an answer, so that the counters
/// stay right.
struct PlatformDeletion<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }
    /// Batches and fan-outs ended in one step.
    private static var batchesAtOnce: Int { 50 }

    /// Goes on with `rest`, or with any deletion that was interrupted; nil when there is none.
    func resume(_ rest: PlatformRest?) throws -> PlatformRest? {
        let platform = try session.prepared(PlatformDeletionStatements.deleted).number().map(Key<Platform>.init)
        guard let platform else { return nil }
        let known = rest?.platform == platform ? rest : nil
        return try step(known ?? PlatformRest(platform: platform))
    }

    /// Ends or deletes some rows of the first kind that has any; nil when nothing is left. Fan-outs come before the
    /// batches they would write, and devices before their posting lists, so that no merge brings one back.
    func step(_ rest: PlatformRest) throws -> PlatformRest? {
        let platform = rest.platform
        // Of two steps at once, one would find nothing where the other deletes, and go on to the platform itself.
        let application = try session.prepared(PlatformDeletionStatements.lockApplication).number(platform)
        guard let application else { return nil }
        try session.awaitMerge()
        for lane in Lane.allCases where try endFanOuts(on: platform, in: lane) { return rest }
        for lane in Lane.allCases where try answerBatches(on: platform, in: lane) { return rest }
        let devices = try session.prepared(PlatformDeletionStatements.devices).all(platform, Self.stride) { row in
            (key: Key<Device>(row.integer(0)), isActive: row.bool(1))
        }
        if !devices.isEmpty {
            try session.tell(.deviceGone, devices.filter(\.isActive).map(\.key), on: platform, because: "deactivated")
            let count = try session.prepared(PlatformDeletionStatements.deleteDevices).run(SQLKeys(devices.map(\.key)))
            if Session.countsDeleted { session.note(-count, .devices, of: Key(application)) }
            return rest
        }
        let messages = try session.deleteMessages(
            WebPushStatements.deleteMessagesOfPlatform, platform, Self.stride)
        if !messages.isEmpty { return rest }
        if let next = try deletePostings(rest, in: Key(application)) { return next }
        for sql in PlatformDeletionStatements.inOrder(of: Session.tables) {
            if try session.prepared(sql).run(platform, Self.stride) > 0 { return rest }
        }
        return nil
    }

    /// Deletes some posting lists of the next topics, or passes these; nil when there are none.
    private func deletePostings(_ rest: PlatformRest, in application: Key<Application>) throws -> PlatformRest? {
        let topics = try session.prepared(PlatformDeletionStatements.topics).all(
            application, rest.lastTopic, Self.stride
        ) { (key: $0.integer(0), name: $0.text(1)) }
        guard let last = topics.last else { return nil }
        let keys = SQLKeys(topics.map(\.key))
        for sql in PlatformDeletionStatements.postings(of: Session.tables) {
            if try session.prepared(sql).run(keys, Self.stride, rest.platform) > 0 { return rest }
        }
        return PlatformRest(platform: rest.platform, lastTopic: last.name)
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

    /// Deletions of an application and of its platforms take turns.
    static let lockApplication: SQLText = """
        SELECT id /* platform_deletion.lock_application */ FROM application
         WHERE id = (SELECT application_id FROM platform WHERE id = $1)
           \(SQLText.forNoKeyUpdate)
        """

    /// Scans `device_reach`, which covers it.
    static let devices: SQLText = """
        SELECT id, reach > 0 /* platform_deletion.devices */ FROM device WHERE platform_id = $1 LIMIT $2
        """

    static let deleteDevices: SQLText = """
        DELETE FROM device /* platform_deletion.delete_devices */ WHERE id \(among: "$1")
        """

    /// Scans `topic_name`.
    static let topics: SQLText = """
        SELECT id, name /* platform_deletion.topics */ FROM topic
         WHERE application_id = $1 AND name > $2
         ORDER BY name
         LIMIT $3
        """

    static func postings(of tables: [StoreTable]) -> [SQLText] { tables.compactMap(\.deletePostingsOfPlatform) }

    static let platform: SQLText = """
        DELETE FROM platform /* platform_deletion.platform */
         WHERE id IN (SELECT id FROM platform WHERE id = $1 AND is_deleted LIMIT $2)
           AND NOT EXISTS (SELECT 1 FROM batch WHERE is_open = true AND lane IN (0, 1, 2) AND platform_id = $1)
           AND NOT EXISTS (SELECT 1 FROM fan_out WHERE lane IN (0, 1, 2) AND platform_id = $1)
        """
}
