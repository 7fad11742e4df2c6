extension Store {
    package func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut] {
        let turn = nextTurn()
        return try await write { session in
            try session.answerAtCommit()
            return try Claims(session: session, turn: turn).claim(
                .fanOuts, atMost: limit, lanes: lanes, until: session.now + lease, room: { _ in limit }
            ) { lane, platform, share in
                try session.leaseFanOuts(in: lane, on: platform, atMost: share, until: session.now + lease)
            }
        }
    }

    package func devices(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Key<Device>] {
        let now = clock.now
        return try await read { db in
            let platform = try db.prepared(PlatformStatements.byKey).first(platform, as: Platform.init)
            guard let platform else { return [] }
            let postings = db.postings(of: platform.key, application: platform.applicationKey, now: now)
            return try AudienceScan(audience, reader: postings).devices(after: after, limit: limit)
        }
    }

    package func slice(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> AudienceSlice {
        let now = clock.now
        return try await read { db in
            let platform = try db.prepared(PlatformStatements.byKey).first(platform, as: Platform.init)
            guard let platform else { return AudienceSlice(devices: [], end: nil) }
            let postings = db.postings(of: platform.key, application: platform.applicationKey, now: now)
            return try AudienceScan(audience, reader: postings).slice(
                after: after, limit: limit, within: Self.sliceTime)
        }
    }

    /// The time that one read may take: an audience of thousands of lists, or of rows that are looked up, is read in many. The lease of
    /// a fan-out is far longer.
    private static var sliceTime: Duration { .milliseconds(250) }

    package func advance(_ step: FanOutStep) async throws -> Bool {
        let fanOut = step.fanOut
        let answer = fanOut.isCancelled ? Answer.skipped(.cancelled) : .pending
        let batches = step.batches.filter { !$0.isEmpty }.map {
            NewBatch($0, of: fanOut.pushKey, on: fanOut.platformKey, in: fanOut.lane, answer: answer)
        }
        return try await write { session in
            try session.answerAtCommit()
            guard try session.move(step, behind: step.cursor ?? batches.last?.last) else { return false }
            try session.insert(batches, areWhole: false)
            let devices = batches.reduce(0) { $0 + $1.answers.count }
            if fanOut.isCancelled { try session.closeCancelled(fanOut, from: batches.first?.first, devices) }
            try session.prepared(PushStatements.advance).send(
                step.isLast ? 1 : 0, fanOut.isCancelled ? 0 : batches.count, devices, session.now, fanOut.pushKey)
            if step.isLast { session.noteSettled(fanOut.pushKey) } else { session.effects.due.insert(.fanOuts) }
            return true
        }
    }
}

/// A batch before it is written.
struct NewBatch: Sendable {
    let push: Key<Push>
    let platform: Key<Platform>
    let lane: Lane
    let first: Key<Device>
    let last: Key<Device>
    let devices: [UInt8]
    let answers: [UInt8]

    init(
        _ keys: [Key<Device>], of push: Key<Push>, on platform: Key<Platform>, in lane: Lane,
        answer: Answer = .pending
    ) {
        (self.push, self.platform, self.lane) = (push, platform, lane)
        first = keys[0]
        last = keys[keys.count - 1]
        devices = DeviceList.encode(keys)
        answers = [UInt8](repeating: answer.code, count: keys.count)
    }
}

extension WriteSession {
    /// Inserts batches, which are due at once.
    func insert(_ batches: [NewBatch], areWhole: Bool) throws {
        guard !batches.isEmpty else { return }
        let now = now
        effects.due.insert(.batches)
        try prepared(BatchStatements.insert).sendEach(
            batches.map { $0.push }, batches.map { $0.platform }, batches.map { $0.lane.rawValue },
            batches.map { $0.first }, batches.map { $0.last }, batches.map { $0.devices }, batches.map { $0.answers },
            batches.map { _ in now }, batches.map { _ in areWhole })
    }

    /// Moves the fan-out's cursor and hands it back, or ends it; false when it was claimed by another since.
    fileprivate func move(_ step: FanOutStep, behind last: Key<Device>?) throws -> Bool {
        let fanOut = step.fanOut
        guard !step.isLast else {
            return try prepared(FanOutStatements.end).run(fanOut.pushKey, fanOut.platformKey, fanOut.attempt) > 0
        }
        let due = now + (fanOut.pause(behind: step.batches.reduce(0) { $0 + $1.count }) ?? .zero)
        return try prepared(FanOutStatements.advance).run(
            last, due, fanOut.pushKey, fanOut.platformKey, fanOut.attempt, now, fanOut.cursor) > 0
    }
}

extension PushStatements {
    static let openFanOuts: SQLText = """
        SELECT open_fan_out_count /* pushes.open_fan_outs */ FROM push_progress WHERE push_id = $1
        """
}

enum FanOutStatements {
    /// A throttled one is claimed until its next step: one that is due later and not claimed was set aside as damaged.
    static let insert: SQLText = """
        INSERT INTO fan_out /* fan_outs.insert */ (push_id, platform_id, lane, due_at_ms, is_claimed)
        VALUES ($1, $2, $3, $4, $5)
        """

    /// Claimed as with `insert`. A step that was taken, though its answer was lost, is not handed back.
    static let advance: SQLText = """
        UPDATE fan_out /* fan_outs.advance */
           SET cursor = coalesce($1, cursor), due_at_ms = $2, is_claimed = ($2 > $6)
         WHERE push_id = $3 AND platform_id = $4 AND attempt = $5 AND is_claimed = true
           AND coalesce(cursor, 0) = coalesce($7, 0)
        """

    static let end: SQLText = """
        DELETE FROM fan_out /* fan_outs.end */
         WHERE push_id = $1 AND platform_id = $2 AND attempt = $3 AND is_claimed = true
        """

    /// SQLite takes one step of a loose index scan over `fan_out_due` for each platform, PostgreSQL for each lane and
    /// platform that has something.
    static let nextDue: SQLText = """
        \(sqlite: """
            SELECT min((SELECT min(due_at_ms) FROM fan_out
                         WHERE fan_out.lane = lane.id AND platform_id = platform.id)) /* fan_outs.next_due */
              FROM platform JOIN application ON application.id = application_id
              JOIN (SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2) AS lane
             WHERE parked_cause IS NULL AND is_deleted = 0 AND is_being_deleted = 0
            """,
            postgres: """
            WITH RECURSIVE bidder /* fan_outs.next_due */ AS (
                (SELECT lane, platform_id, due_at_ms FROM fan_out ORDER BY lane, platform_id, due_at_ms LIMIT 1)
                UNION ALL
                SELECT next.lane, next.platform_id, next.due_at_ms
                  FROM bidder CROSS JOIN LATERAL (
                    SELECT fan_out.lane, fan_out.platform_id, fan_out.due_at_ms FROM fan_out
                     WHERE (fan_out.lane, fan_out.platform_id) > (bidder.lane, bidder.platform_id)
                     ORDER BY fan_out.lane, fan_out.platform_id, fan_out.due_at_ms LIMIT 1) AS next)
            SELECT min(due_at_ms)
              FROM bidder JOIN platform ON platform.id = platform_id JOIN application ON application.id = application_id
             WHERE parked_cause IS NULL AND NOT is_deleted AND NOT is_being_deleted
            """)
        """
}
