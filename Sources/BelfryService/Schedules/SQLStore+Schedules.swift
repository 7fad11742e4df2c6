import FoundationEssentials

extension SQLStore {
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        let content = pushRequest.content.storedText
        let target = pushRequest.target.storedText
        return try await write { session in
            try session.check(application)
            try session.check(.schedules, of: application)
            try session.check(.content, of: application, adding: content.utf8.count + target.utf8.count)
            session.note(1, .schedules, of: application)
            session.note(content.utf8.count + target.utf8.count, .content, of: application)
            let now = session.now
            let key = try session.insert(
                ScheduleStatements.insert, application, dueAt, pushRequest.lane?.rawValue,
                pushRequest.guarantee.rawValue, pushRequest.expiresAt, content, target, now)
            session.noteSchedule(at: dueAt, now: now)
            return Schedule(
                key: Key(key), applicationKey: application, pushRequest: pushRequest, dueAt: dueAt,
                createdAt: now, version: 1, ending: nil)
        }
    }

    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        try await read { db in
            try db.prepared(ScheduleStatements.byKey).first(key, application, as: Schedule.init)
        }
    }

    package func schedules(
        of application: Key<Application>, after: Schedule?, limit: Int
    ) async throws -> [Schedule] {
        try await read { [damagedRows] db in
            let start = Position(dueAt: after?.dueAt ?? .distantPast, key: after?.key)
            return try DamagedRows.slice(of: limit, after: start) { last, limit in
                try db.prepared(ScheduleStatements.waiting).all(application, last.dueAt, last.key, limit) { row in
                    (Position(row), try damagedRows.schedule(row))
                }
            }
        }
    }

    package func endedSchedules(
        of application: Key<Application>, after: Schedule?, limit: Int
    ) async throws -> [Schedule] {
        try await read { [damagedRows] db in
            let start = Position(endedAt: after?.ending?.at ?? .distantFuture, dueAt: after?.dueAt, key: after?.key)
            return try DamagedRows.slice(of: limit, after: start) { last, limit in
                try db.prepared(ScheduleStatements.ended).all(
                    application, last.endedAt, last.dueAt, last.key, limit
                ) { row in
                    (Position(row), try damagedRows.schedule(row))
                }
            }
        }
    }

    /// The schedule is read and encoded again outside the transaction, which then checks that it has not changed.
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        for _ in 1...Self.changeAttemptsMax {
            guard let schedule = try await schedule(key, of: application), schedule.ending == nil else { return nil }
            try schedule.check(change)
            let changed = schedule.changed(by: change)
            if try await write(changed, over: schedule.version) { return changed }
        }
        throw StoreError.overloaded(retryAfter: .seconds(1))
    }

    /// How often a schedule is read again because another change came first.
    private static var changeAttemptsMax: Int { 16 }

    private func write(_ changed: Schedule, over version: Int64) async throws -> Bool {
        let content = changed.pushRequest.content.storedText
        let target = changed.pushRequest.target.storedText
        return try await write { session in
            let bytes = try session.prepared(ScheduleStatements.bytes).count(changed.key)
            let gained = content.utf8.count + target.utf8.count - bytes
            try session.check(.content, of: changed.applicationKey, adding: gained)
            let changes = try session.prepared(ScheduleStatements.update).run(
                changed.dueAt, changed.version, changed.pushRequest.expiresAt, content, target,
                changed.pushRequest.lane?.rawValue, changed.pushRequest.guarantee.rawValue, changed.key, version)
            guard changes > 0 else { return false }
            session.note(gained, .content, of: changed.applicationKey)
            session.noteSchedule(at: changed.dueAt, now: session.now)
            return true
        }
    }

    /// An unreadable schedule can be cancelled too.
    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        try await write { try $0.cancel(key, of: application) }
    }

    /// Unreadable schedules are set aside for an hour.
    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        let now = clock.now
        let due = try await read { db in
            try db.prepared(ScheduleStatements.due).all(now, limit) { row in
                (key: Key<Schedule>(row.integer(0)), schedule: try readable { try Schedule(row) })
            }
        }
        let damaged = due.filter { $0.schedule == nil }.map(\.key)
        if !damaged.isEmpty { try await write { try $0.setAside(damaged) } }
        return due.compactMap(\.schedule)
    }

    package func nextScheduleDue() async throws -> Instant? {
        try await read { db in
            try db.prepared(ScheduleStatements.nextDue).first { Instant(milliseconds: $0.integer(0)) }
        }
    }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        let draft = try await draft(push)
        return try await write { session in
            guard try session.end(schedule, .sent(receiptID: push.receiptID)) else { return nil }
            return try PushInserter(session: session, arePromised: true).accept([draft])[0].get()
        }
    }

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        try await write { session in try session.end(schedule, how) }
    }
}

/// The position in a list of schedules.
private struct Position {
    var endedAt: Instant?
    var dueAt: Instant?
    var key: Key<Schedule>?

    init(endedAt: Instant? = nil, dueAt: Instant?, key: Key<Schedule>?) {
        self.endedAt = endedAt
        self.dueAt = dueAt
        self.key = key
    }

    init(_ row: some SQLRow) {
        self.init(
            endedAt: row.instantIfAny(10),
            dueAt: Instant(milliseconds: row.integer(2)), key: Key(row.integer(0)))
    }
}

extension WriteSession {
    /// The number of ended schedules that each end deletes: more than one, so that they do not pile up.
    private static var clearedByEach: Int { 2 }

    fileprivate func noteSchedule(at dueAt: Instant, now: Instant) {
        if dueAt < now + Schedule.soon { effects.due.insert(.schedules) }
    }

    /// Ends the schedule as it was read; false when it was changed or has ended since.
    fileprivate func end(_ schedule: Schedule, _ how: Schedule.How) throws -> Bool {
        let ended = try prepared(ScheduleStatements.end).run(
            now, how.name, how.receiptID, how.reason, schedule.key, schedule.version)
        guard ended > 0 else { return false }
        note(-1, .schedules, of: schedule.applicationKey)
        try clearSchedules(of: schedule.applicationKey)
        return true
    }

    /// Ends a waiting schedule, whatever its content.
    fileprivate func cancel(_ key: Key<Schedule>, of application: Key<Application>) throws -> Bool {
        guard try prepared(ScheduleStatements.cancel).run(now, key, application) > 0 else { return false }
        note(-1, .schedules, of: application)
        try clearSchedules(of: application)
        return true
    }

    private func clearSchedules(of application: Key<Application>) throws {
        try prepared(ScheduleStatements.clear).each(
            application, now + (.zero - Schedule.keptFor), Self.clearedByEach
        ) { note(-Int($0.integer(0)), .content, of: application) }
    }

    fileprivate func setAside(_ schedules: [Key<Schedule>]) throws {
        for key in schedules {
            try prepared(ScheduleStatements.setAside).send(now + Damage.setAsideFor, key, now)
            effects.damaged.append("schedule \(key)")
        }
    }
}

extension DamagedRows {
    fileprivate func schedule(_ row: some SQLRow) throws -> Schedule? {
        try readable("schedule \(row.integer(0))") { try Schedule(row) }
    }
}

extension Schedule {
    /// From the columns that `byKey` and its like read.
    fileprivate init(_ row: some SQLRow) throws {
        guard let guarantee = Push.Guarantee(rawValue: row.integer(5)) else {
            throw StoreError.damaged("schedule \(row.integer(0))")
        }
        let pushRequest = try StoreError.reading("schedule \(row.integer(0))") {
            PushRequest(
                content: try Push.Content(stored: row.blob(7)), target: try Target(stored: row.blob(8)),
                lane: row.integerIfAny(4).flatMap(Lane.init(rawValue:)), guarantee: guarantee,
                expiresAt: row.instantIfAny(6))
        }
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), pushRequest: pushRequest,
            dueAt: Instant(milliseconds: row.integer(2)), createdAt: Instant(milliseconds: row.integer(9)),
            version: row.integer(3), ending: try Ending(row))
    }
}

extension Schedule.Ending {
    fileprivate init?(_ row: some SQLRow) throws {
        guard let at = row.instantIfAny(10) else { return nil }
        switch row.text(11) {
        case "cancelled": self.init(.cancelled, at: at)
        case "expired": self.init(.expired, at: at)
        case "refused": self.init(.refused(row.text(13)), at: at)
        default:
            guard let receiptID = row.uuid(12) else { throw StoreError.damaged("schedule \(row.integer(0))") }
            self.init(.sent(receiptID: receiptID), at: at)
        }
    }
}

extension Schedule.How {
    fileprivate var receiptID: UUID? { if case .sent(let receiptID) = self { receiptID } else { nil } }
    fileprivate var reason: String? { if case .refused(let words) = self { words } else { nil } }
}

enum ScheduleStatements {
    static let insert: SQLText = """
        INSERT INTO schedule /* schedules.insert */ (
            application_id, due_at_ms, lane, guarantee, expires_at_ms, content, target, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        RETURNING id
        """

    static let byKey: SQLText = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.by_key */
          FROM schedule
         WHERE id = $1 AND application_id = $2
        """

    static let bytes: SQLText = """
        SELECT \(bytesOf: "content") + \(bytesOf: "target") /* schedules.bytes */ FROM schedule WHERE id = $1
        """

    /// Scans `schedule_application`.
    static let waiting: SQLText = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.waiting */
          FROM schedule
         WHERE application_id = $1 AND ended_at_ms IS NULL AND (due_at_ms, id) > ($2, coalesce($3, 0))
         ORDER BY ended_at_ms, due_at_ms, id
         LIMIT $4
        """

    /// Scans `schedule_application` backwards.
    static let ended: SQLText = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.ended */
          FROM schedule
         WHERE application_id = $1 AND ended_at_ms IS NOT NULL
           AND (ended_at_ms, due_at_ms, id) < ($2, coalesce($3, 0), coalesce($4, 0))
         ORDER BY ended_at_ms DESC, due_at_ms DESC, id DESC
         LIMIT $5
        """

    static let update: SQLText = """
        UPDATE schedule /* schedules.update */
           SET due_at_ms = $1, version = $2, expires_at_ms = $3, content = $4, target = $5, lane = $6, guarantee = $7
         WHERE id = $8 AND version = $9 AND ended_at_ms IS NULL
        """

    static let end: SQLText = """
        UPDATE schedule /* schedules.end */
           SET ended_at_ms = $1, ending = $2, receipt_id = $3, reason = $4
         WHERE id = $5 AND version = $6 AND ended_at_ms IS NULL
        """

    static let cancel: SQLText = """
        UPDATE schedule /* schedules.cancel */ SET ended_at_ms = $1, ending = 'cancelled'
         WHERE id = $2 AND application_id = $3 AND ended_at_ms IS NULL
        """

    /// Unless it was ended or changed since.
    static let setAside: SQLText = """
        UPDATE schedule /* schedules.set_aside */ SET due_at_ms = $1
         WHERE id = $2 AND due_at_ms <= $3 AND ended_at_ms IS NULL
        """

    /// Scans `schedule_application`.
    static let clear: SQLText = """
        DELETE FROM schedule /* schedules.clear */
         WHERE id IN (SELECT id FROM schedule WHERE application_id = $1 AND ended_at_ms < $2
                       ORDER BY ended_at_ms LIMIT $3)
        RETURNING \(bytesOf: "content") + \(bytesOf: "target")
        """

    /// Scans `schedule_due`.
    static let due: SQLText = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.due */
          FROM schedule
         WHERE ended_at_ms IS NULL AND due_at_ms <= $1
           AND EXISTS (SELECT 1 FROM application WHERE application.id = application_id AND NOT is_being_deleted)
         ORDER BY due_at_ms, id
         LIMIT $2
        """

    /// Scans `schedule_due` to the first of an application that is not being deleted.
    static let nextDue: SQLText = """
        SELECT due_at_ms /* schedules.next_due */
          FROM schedule
         WHERE ended_at_ms IS NULL
           AND EXISTS (SELECT 1 FROM application WHERE application.id = application_id AND NOT is_being_deleted)
         ORDER BY due_at_ms
         LIMIT 1
        """
}
