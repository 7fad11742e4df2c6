import FoundationEssentials

extension Store {
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence?,
        for application: Key<Application>
    ) async throws -> Schedule {
        let written = WrittenRequest(pushRequest)
        return try await write { session in
            try session.check(application)
            return try session.schedule(written, at: dueAt, recurring: recurrence, for: application)
        }
    }

    package func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool {
        let written = WrittenRequest(schedule.pushRequest(of: occurrence))
        return try await write { session in try session.start(occurrence, of: schedule, as: written) }
    }

    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        try await read { db in
            try db.prepared(ScheduleStatements.byKey).first(key, application, as: Schedule.init)
        }
    }

    /// Waiting schedules, the next due first.
    ///
    /// - Parameter after: the last one of the page before.
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

    /// Ended schedules, the last ended first; each is kept for at least `Schedule.keptFor`.
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
            let changed = try schedule.changed(by: change, at: clock.now)
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
                changed.pushRequest.lane?.rawValue, changed.pushRequest.guarantee.rawValue,
                changed.recurrence?.storedText, changed.pausedAt, changed.key, version)
            guard changes > 0 else { return false }
            session.note(gained, .content, of: changed.applicationKey)
            session.noteSchedule(at: changed.dueAt, now: session.now)
            return true
        }
    }

    /// An unreadable schedule can be cancelled too.
    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { try $0.cancel(key, of: application) }
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
        let located = try await locating(push)
        return try await write { session in
            guard try session.finish(schedule, .sent(receiptID: push.receiptID)) else { return nil }
            return try PushInserter(session: session, arePromised: true).accept([located])[0].get()
        }
    }

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        try await write { session in try session.finish(schedule, how) }
    }

    package func pass(_ schedule: Schedule, to next: Instant) async throws -> Bool {
        try await write { session in
            let moved = try session.prepared(ScheduleStatements.move).run(
                next, schedule.version + 1, schedule.key, schedule.version)
            guard moved > 0 else { return false }
            session.noteSchedule(at: next, now: session.now)
            return true
        }
    }

    package func timeZones(of application: Key<Application>) async throws -> [String] {
        try await timeZones(of: application, atMost: 4_096)
    }

    /// Devices write what they like: where they have too many zones, the result has those that the system knows.
    func timeZones(of application: Key<Application>, atMost limit: Int) async throws -> [String] {
        try await readCommitted { db in
            let (range, labels) = (LabelRange.timeZones, try db.prepared(LabelStatements.names))
            let names = try labels.all(application, range.from, range.end, limit) {
                String($0.text(0).dropFirst(range.from.count))
            }
            guard names.count == limit else { return names }
            return try ZoneInfo.all.map(\.name.caseFolded).filter { name in
                try labels.hasRow(application, range.from + name, range.from + name + "\u{1}", 1)
            }
        }
    }

    /// The last `ScheduleRun.keptMax` times of a recurring schedule, the latest first.
    package func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun] {
        try await readCommitted { db in
            try db.prepared(ScheduleStatements.runs).all(schedule, ScheduleRun.keptMax) { row in
                ScheduleRun(
                    dueAt: Instant(milliseconds: row.integer(0)), at: Instant(milliseconds: row.integer(1)),
                    how: Schedule.How(
                        row.text(2), receiptID: row.uuid(3), reason: row.textIfAny(4), child: row.integerIfAny(5)),
                    childState: row.textIfAny(6))
            }
        }
    }
}

/// A push request with its stored form, which is made outside transactions.
package struct WrittenRequest: Sendable {
    package let pushRequest: PushRequest
    let content: String
    let target: String

    init(_ pushRequest: PushRequest) {
        self.pushRequest = pushRequest
        (content, target) = (pushRequest.content.storedText, pushRequest.target.storedText)
    }

    var bytes: Int { content.utf8.count + target.utf8.count }
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

    /// As `insert`, within the application's quotas.
    func schedule(
        _ written: WrittenRequest, at dueAt: Instant, recurring recurrence: Recurrence? = nil,
        for application: Key<Application>
    ) throws -> Schedule {
        try check(.schedules, of: application)
        try check(.content, of: application, adding: written.bytes)
        return try insert(written, at: dueAt, recurring: recurrence, for: application)
    }

    /// Writes a schedule that was promised: no quota refuses it.
    func insert(
        _ written: WrittenRequest, at dueAt: Instant, recurring recurrence: Recurrence? = nil,
        for application: Key<Application>
    ) throws -> Schedule {
        note(1, .schedules, of: application)
        note(written.bytes, .content, of: application)
        let (now, pushRequest) = (self.now, written.pushRequest)
        let key = try insert(
            ScheduleStatements.insert, application, dueAt, pushRequest.lane?.rawValue, pushRequest.guarantee.rawValue,
            pushRequest.expiresAt, written.content, written.target, now, recurrence?.storedText)
        noteSchedule(at: dueAt, now: now)
        return Schedule(
            key: Key(key), applicationKey: application, pushRequest: pushRequest, dueAt: dueAt, createdAt: now,
            version: 1, recurrence: recurrence, ending: nil)
    }

    /// The version binds the schedule's move to the new schedule, as in `finish`.
    fileprivate func start(
        _ occurrence: Schedule.Occurrence, of schedule: Schedule, as written: WrittenRequest
    ) throws -> Bool {
        let moved = schedule.moved(past: occurrence)
        // The last time is claimed as the others are, and then ended with the key of the new schedule.
        let claimed = try prepared(ScheduleStatements.move).run(
            moved?.dueAt ?? schedule.dueAt, schedule.version + 1, schedule.key, schedule.version)
        guard claimed > 0 else { return false }
        let child = try insert(written, at: occurrence.dueAt, for: schedule.applicationKey)
        try note(.started(child.key), of: schedule, at: occurrence.at)
        if let moved {
            noteSchedule(at: moved.dueAt, now: now)
            return true
        }
        return try end(schedule, .started(child.key), version: schedule.version + 1)
    }

    fileprivate func noteSchedule(at dueAt: Instant, now: Instant) {
        if dueAt < now + Schedule.soon { effects.due.insert(.schedules) }
    }

    /// Ends the schedule as it was read, or moves it on to its next time; false when it was changed or has ended since.
    ///
    /// The version binds it to what becomes of its time in the same transaction, a push above all: of two nodes that have read one version,
    /// one writes.
    fileprivate func finish(_ schedule: Schedule, _ how: Schedule.How) throws -> Bool {
        let finished = schedule.finished(how, at: now)
        guard finished.ending == nil else {
            guard let ending = finished.ending, try end(schedule, ending.how, version: schedule.version) else {
                return false
            }
            if schedule.isRepeated, how != .cancelled { try note(how, of: schedule, at: schedule.dueAt) }
            return true
        }
        let moved = try prepared(ScheduleStatements.move).run(
            finished.dueAt, finished.version, schedule.key, schedule.version)
        guard moved > 0 else { return false }
        try note(how, of: schedule, at: schedule.dueAt)
        noteSchedule(at: finished.dueAt, now: now)
        return true
    }

    /// Writes a line of the history, which replaces the oldest of many.
    private func note(_ how: Schedule.How, of schedule: Schedule, at time: Instant) throws {
        try prepared(ScheduleStatements.note).send(
            schedule.key, time, now, how.storedName, how.receiptID, how.storedReason, how.child)
        try prepared(ScheduleStatements.clearRuns).send(schedule.key, ScheduleRun.keptMax)
    }

    private func end(_ schedule: Schedule, _ how: Schedule.How, version: Int64) throws -> Bool {
        let ended = try prepared(ScheduleStatements.end).run(
            now, how.storedName, how.receiptID, how.storedReason, how.child, schedule.key, version)
        guard ended > 0 else { return false }
        try tellFinished(with: schedule.key, of: schedule.applicationKey)
        note(-1, .schedules, of: schedule.applicationKey)
        try clearSchedules(of: schedule.applicationKey)
        return true
    }

    /// Ends a waiting schedule, whatever its content, with those that it started.
    func cancel(_ key: Key<Schedule>, of application: Key<Application>) throws -> Bool {
        guard try prepared(ScheduleStatements.cancel).run(now, key, application) > 0 else { return false }
        note(-1, .schedules, of: application)
        try cancelChildren(of: key, application)
        try tellFinished(with: key, of: application)
        try clearSchedules(of: application)
        return true
    }

    /// Ends the waiting schedules that a recurring one started.
    func cancelChildren(of key: Key<Schedule>, _ application: Key<Application>) throws {
        let children = try prepared(ScheduleStatements.cancelChildren).run(now, key)
        if children > 0 { note(-children, .schedules, of: application) }
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
            version: row.integer(3), recurrence: try Self.recurrence(row), pausedAt: row.instantIfAny(15),
            ending: try Ending(row))
    }

    private static func recurrence(_ row: some SQLRow) throws -> Recurrence? {
        guard row.textIfAny(14) != nil else { return nil }
        return try StoreError.reading("schedule \(row.integer(0))") { try Recurrence(stored: row.blob(14)) }
    }
}

extension Schedule.Ending {
    fileprivate init?(_ row: some SQLRow) throws {
        guard let at = row.instantIfAny(10) else { return nil }
        if let child = row.integerIfAny(16) {
            self.init(.started(Key(child)), at: at)
            return
        }
        switch row.text(11) {
        case "cancelled": self.init(.cancelled, at: at)
        case "expired": self.init(.expired, at: at)
        case "refused": self.init(.refused(stored: row.text(13)), at: at)
        default:
            guard let receiptID = row.uuid(12) else { throw StoreError.damaged("schedule \(row.integer(0))") }
            self.init(.sent(receiptID: receiptID), at: at)
        }
    }
}

extension Schedule.How {
    fileprivate init(_ name: String, receiptID: UUID?, reason: String?, child: Int64?) {
        self =
            switch (name, receiptID, child) {
            case ("sent", let receiptID?, _): .sent(receiptID: receiptID)
            case (_, _, let child?): .started(Key(child))
            case ("missed", _, _): .missed
            case ("expired", _, _): .expired
            default: .refused(stored: reason ?? "")
            }
    }

    /// From the reason in the database.
    fileprivate static func refused(stored reason: String) -> Schedule.How {
        reason.hasPrefix(needless) ? .needless(String(reason.dropFirst(needless.count))) : .refused(reason)
    }

    /// The name in the database, whose endings are older than schedules that start others, which the child's key tells, and than conditions,
    /// which the reason tells.
    fileprivate var storedName: String {
        switch self {
        case .started: "expired"
        case .needless: "refused"
        default: name
        }
    }

    private static let needless = "not needed: "
    fileprivate var storedReason: String? {
        if case .needless(let words) = self { Self.needless + words } else { reason }
    }

    /// The schedule that was started.
    package var child: Key<Schedule>? { if case .started(let child) = self { child } else { nil } }
    var receiptID: UUID? { if case .sent(let receiptID) = self { receiptID } else { nil } }
    var reason: String? {
        switch self {
        case .refused(let words), .needless(let words): words
        default: nil
        }
    }
}

enum ScheduleStatements {
    static let insert: SQLText = """
        INSERT INTO schedule /* schedules.insert */ (
            application_id, due_at_ms, lane, guarantee, expires_at_ms, content, target, created_at_ms, recurrence)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        RETURNING id
        """

    private static func select(_ name: String, where condition: String) -> SQLText {
        """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason, recurrence, paused_at_ms, child_id /* schedules.\(name) */
          FROM schedule
         WHERE \(condition)
        """
    }

    static let byKey = select("by_key", where: "id = $1 AND application_id = $2")

    static let bytes: SQLText = """
        SELECT \(bytesOf: "content") + \(bytesOf: "target") /* schedules.bytes */ FROM schedule WHERE id = $1
        """

    /// Scans `schedule_application`.
    static let waiting = select(
        "waiting",
        where: """
            application_id = $1 AND ended_at_ms IS NULL AND (due_at_ms, id) > ($2, coalesce($3, 0))
            ORDER BY ended_at_ms, due_at_ms, id LIMIT $4
            """)

    /// Scans `schedule_application` backwards.
    static let ended = select(
        "ended",
        where: """
            application_id = $1 AND ended_at_ms IS NOT NULL
            AND (ended_at_ms, due_at_ms, id) < ($2, coalesce($3, 0), coalesce($4, 0))
            ORDER BY ended_at_ms DESC, due_at_ms DESC, id DESC LIMIT $5
            """)

    static let update: SQLText = """
        UPDATE schedule /* schedules.update */
           SET due_at_ms = $1, version = $2, expires_at_ms = $3, content = $4, target = $5, lane = $6, guarantee = $7,
               recurrence = $8, paused_at_ms = $9
         WHERE id = $10 AND version = $11 AND ended_at_ms IS NULL
        """

    static let move: SQLText = """
        UPDATE schedule /* schedules.move */ SET due_at_ms = $1, version = $2
         WHERE id = $3 AND version = $4 AND ended_at_ms IS NULL
        """

    static let note: SQLText = """
        INSERT INTO schedule_run /* schedules.note */ (
            schedule_id, due_at_ms, at_ms, ending, receipt_id, reason, child_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """

    /// Scans `schedule_run_schedule`.
    static let clearRuns: SQLText = """
        DELETE FROM schedule_run /* schedules.clear_runs */
         WHERE schedule_id = $1
           AND id <= (SELECT id FROM schedule_run WHERE schedule_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
        """

    /// Scans `schedule_run_schedule` backwards.
    static let runs: SQLText = """
        SELECT due_at_ms, at_ms, ending, receipt_id, reason, child_id,
               (SELECT coalesce(child.ending, 'waiting') FROM schedule AS child WHERE child.id = schedule_run.child_id)
               /* schedules.runs */
          FROM schedule_run
         WHERE schedule_id = $1
         ORDER BY id DESC
         LIMIT $2
        """

    static let end: SQLText = """
        UPDATE schedule /* schedules.end */
           SET ended_at_ms = $1, ending = $2, receipt_id = $3, reason = $4, child_id = $5
         WHERE id = $6 AND version = $7 AND ended_at_ms IS NULL
        """

    static let cancel: SQLText = """
        UPDATE schedule /* schedules.cancel */ SET ended_at_ms = $1, ending = 'cancelled'
         WHERE id = $2 AND application_id = $3 AND ended_at_ms IS NULL
        """

    /// Ends the schedules that one started. They are among the last of its history: no more than a few wait.
    static let cancelChildren: SQLText = """
        UPDATE schedule /* schedules.cancel_children */ SET ended_at_ms = $1, ending = 'cancelled'
         WHERE id IN (SELECT schedule_run.child_id FROM schedule_run WHERE schedule_run.schedule_id = $2)
           AND ended_at_ms IS NULL
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
    static let due = select(
        "due",
        where: """
            ended_at_ms IS NULL AND due_at_ms <= $1
            AND EXISTS (SELECT 1 FROM application WHERE application.id = application_id AND NOT is_being_deleted)
            ORDER BY due_at_ms, id LIMIT $2
            """)

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

extension Schema {
    static let schedules = SchemaPart(
        [StoreTable("schedule", rows: .quota(.schedules), of: .application)],
        sql: """
            -- See `Schedule`. An ended schedule is kept for a while as a record of its result.
            CREATE TABLE schedule (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                due_at_ms \(.bigint) NOT NULL,
                version \(.bigint) NOT NULL DEFAULT 1 CHECK (version >= 1),
                lane \(.bigint) CHECK (lane BETWEEN 0 AND 2),
                guarantee \(.bigint) NOT NULL CHECK (guarantee IN (0, 1)),
                expires_at_ms \(.bigint),
                content text NOT NULL,
                target text NOT NULL,
                created_at_ms \(.bigint) NOT NULL,
                ended_at_ms \(.bigint),
                ending text CHECK (ending IN ('sent', 'cancelled', 'expired', 'refused')),
                \(uuid: "receipt_id"),
                reason text,
                CHECK ((ended_at_ms IS NULL) = (ending IS NULL)),
                CHECK ((receipt_id IS NOT NULL) = (coalesce(ending, '') = 'sent')),
                CHECK ((reason IS NOT NULL) = (coalesce(ending, '') = 'refused'))
            ) \(.byID);
            -- The waiting schedules, however many have ended.
            CREATE INDEX schedule_due ON schedule (due_at_ms\(postgres: ", id")) WHERE ended_at_ms IS NULL;
            -- An application's waiting schedules by their due times, then its ended ones by their ends.
            CREATE INDEX schedule_application ON schedule (application_id, ended_at_ms, due_at_ms\(postgres: ", id"));
            """)
}

/// Adds recurring schedules, and the history of their times; see `Recurrence` and `ScheduleRun`.
///
/// The previous release sends a recurring schedule at its next time and ends it. Paused ones are due in the year 9999, so it leaves them alone.
enum RecurrenceMigration: SchemaMigration {
    static let identifier = "0012 recurring schedules (additive)"
    static let tables = [
        StoreTable(
            "schedule_run", rows: .perRow("schedule", ScheduleRun.keptMax), of: .row(of: "schedule", by: "schedule_id"))
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                ALTER TABLE schedule ADD COLUMN recurrence text;
                ALTER TABLE schedule ADD COLUMN paused_at_ms \(.bigint);
                CREATE TABLE schedule_run (
                    id \(.key),
                    schedule_id \(.bigint) NOT NULL REFERENCES schedule (id) ON DELETE CASCADE,
                    due_at_ms \(.bigint) NOT NULL,
                    at_ms \(.bigint) NOT NULL,
                    ending text NOT NULL CHECK (ending IN ('sent', 'expired', 'refused', 'missed')),
                    \(uuid: "receipt_id"),
                    reason text,
                    CHECK ((receipt_id IS NOT NULL) = (ending = 'sent')),
                    CHECK ((reason IS NOT NULL) = (ending = 'refused'))
                ) \(.byID);
                CREATE INDEX schedule_run_schedule ON schedule_run (schedule_id\(postgres: ", id"));
                """)
    }
}

/// Adds the schedules that a recurring one by the clocks of each recipient started, to its history and to its end; see `Schedule.How`. They
/// may be gone.
///
/// The previous release cannot read such a recurring schedule: it leaves it out of lists, and sets it aside for an hour when it is due.
/// Recipients whose time comes meanwhile get it late, none twice or not at all.
enum StartedScheduleMigration: SchemaMigration {
    static let identifier = "0018 schedules that start schedules (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                ALTER TABLE schedule ADD COLUMN child_id \(.bigint);
                ALTER TABLE schedule_run ADD COLUMN child_id \(.bigint);
                """)
    }
}
