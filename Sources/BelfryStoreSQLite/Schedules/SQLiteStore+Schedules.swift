package import BelfryCore
import FoundationEssentials
import GRDB

extension SQLiteStore: ScheduleStore {
    package func schedule(
        _ order: Order, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        let content = try order.content.json()
        let target = try order.target.json()
        return try await writer.write { session in
            guard try session.exists(application) else { throw StoreError.unknown("application \(application)") }
            try session.check(.schedules, of: application)
            try session.check(.content, of: application, adding: content.utf8.count + target.utf8.count)
            let now = session.clock.now
            try session.prepared(ScheduleStatements.insert).run(
                application, dueAt, order.lane?.rawValue, order.guarantee.rawValue, order.expiresAt, content, target,
                now)
            session.note(1, .schedules, of: application)
            session.note(content.utf8.count + target.utf8.count, .content, of: application)
            session.noteSchedule(at: dueAt, now: now)
            return Schedule(
                key: Key(session.db.lastInsertedRowID), applicationKey: application, order: order, dueAt: dueAt,
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
        try await read { db in
            try db.prepared(ScheduleStatements.waiting).all(
                application, after?.dueAt ?? .distantPast, after?.key, limit, as: Schedule.init)
        }
    }

    package func endedSchedules(
        of application: Key<Application>, after: Schedule?, limit: Int
    ) async throws -> [Schedule] {
        try await read { db in
            try db.prepared(ScheduleStatements.ended).all(
                application, after?.ending?.at ?? .distantFuture, after?.dueAt, after?.key, limit, as: Schedule.init)
        }
    }

    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        try await writer.write { session in
            let schedule = try session.prepared(ScheduleStatements.byKey).first(key, application, as: Schedule.init)
            guard let schedule, schedule.ending == nil else { return nil }
            let changed = schedule.changed(by: change)
            let (content, target) = (try changed.order.content.json(), try changed.order.target.json())
            let bytes = try session.prepared(ScheduleStatements.bytes).first(key) { Int($0.integer(0)) } ?? 0
            let gained = content.utf8.count + target.utf8.count - bytes
            try session.check(.content, of: application, adding: gained)
            try session.prepared(ScheduleStatements.update).run(
                changed.dueAt, changed.version, changed.order.expiresAt, content, target, key)
            session.note(gained, .content, of: application)
            session.noteSchedule(at: changed.dueAt, now: session.clock.now)
            return changed
        }
    }

    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        try await writer.write { session in
            let schedule = try session.prepared(ScheduleStatements.byKey).first(key, application, as: Schedule.init)
            return try schedule.map { try session.end($0, .cancelled) } ?? false
        }
    }

    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        let now = clock.now
        return try await read { db in
            try db.prepared(ScheduleStatements.due).all(now, limit, as: Schedule.init)
        }
    }

    package func nextScheduleDue() async throws -> Instant? {
        try await read { db in
            try db.prepared(ScheduleStatements.nextDue).first { Instant(milliseconds: $0.integer(0)) }
        }
    }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        let content = try push.content.json()
        let audience = try push.audience.json()
        return try await writer.write { session in
            guard try session.end(schedule, .sent(receiptID: push.receiptID)) else { return nil }
            return try session.accept(push, content: content, audience: audience)
        }
    }

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        try await writer.write { session in try session.end(schedule, how) }
    }
}

extension WriteSession {
    /// How many records of earlier ends one end clears away: more than one, so that they do not pile up.
    private static let clearedByEach = 2

    fileprivate func noteSchedule(at dueAt: Instant, now: Instant) {
        if dueAt < now + Schedule.soon { effects.fallsDue = true }
    }

    /// Ends the schedule as it was read; false when it was changed or has ended since.
    fileprivate func end(_ schedule: Schedule, _ how: Schedule.How) throws -> Bool {
        let now = clock.now
        try prepared(ScheduleStatements.end).run(
            now, how.name, how.receiptID, how.reason, schedule.key, schedule.version)
        guard db.changesCount > 0 else { return false }
        note(-1, .schedules, of: schedule.applicationKey)
        try prepared(ScheduleStatements.clear).each(
            schedule.applicationKey, now + (.zero - Schedule.keptFor), Self.clearedByEach
        ) { note(-Int($0.integer(0)), .content, of: schedule.applicationKey) }
        return true
    }
}

extension Schedule {
    /// From the columns that `byKey` and its like read.
    fileprivate init(_ row: Columns) throws {
        guard let guarantee = Push.Guarantee(rawValue: row.integer(5)) else {
            throw StoreError.unavailable("schedule \(row.integer(0)) is damaged")
        }
        let order = Order(
            content: try JSONDecoder().decode(Push.Content.self, from: Data(row.blob(7))),
            target: try JSONDecoder().decode(Target.self, from: Data(row.blob(8))),
            lane: row.integerIfAny(4).flatMap(Lane.init(rawValue:)), guarantee: guarantee,
            expiresAt: row.integerIfAny(6).map(Instant.init(milliseconds:)))
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), order: order,
            dueAt: Instant(milliseconds: row.integer(2)), createdAt: Instant(milliseconds: row.integer(9)),
            version: row.integer(3), ending: try Ending(row))
    }
}

extension Schedule.Ending {
    fileprivate init?(_ row: Columns) throws {
        guard let at = row.integerIfAny(10).map(Instant.init(milliseconds:)) else { return nil }
        switch row.text(11) {
        case "cancelled": self.init(.cancelled, at: at)
        case "expired": self.init(.expired, at: at)
        case "refused": self.init(.refused(row.text(13)), at: at)
        default:
            guard let receiptID = row.withBlob(12, { UUID(bytes: $0) }) else {
                throw StoreError.unavailable("schedule \(row.integer(0)) is damaged")
            }
            self.init(.sent(receiptID: receiptID), at: at)
        }
    }
}

extension Schedule.How {
    fileprivate var receiptID: UUID? { if case .sent(let receiptID) = self { receiptID } else { nil } }
    fileprivate var reason: String? { if case .refused(let words) = self { words } else { nil } }
}

enum ScheduleStatements {
    static let insert = """
        INSERT INTO schedule /* schedules.insert */ (
            application_id, due_at_ms, lane, guarantee, expires_at_ms, content, target, created_at_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """

    static let byKey = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.by_key */
          FROM schedule
         WHERE id = ?1 AND application_id = ?2
        """

    static let bytes = """
        SELECT length(CAST(content AS BLOB)) + length(CAST(target AS BLOB)) /* schedules.bytes */
          FROM schedule
         WHERE id = ?1
        """

    /// Walks `schedule_application`.
    static let waiting = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.waiting */
          FROM schedule
         WHERE application_id = ?1 AND ended_at_ms IS NULL AND (due_at_ms, id) > (?2, coalesce(?3, 0))
         ORDER BY due_at_ms, id
         LIMIT ?4
        """

    /// Walks `schedule_application` backwards.
    static let ended = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.ended */
          FROM schedule
         WHERE application_id = ?1 AND ended_at_ms IS NOT NULL
           AND (ended_at_ms, due_at_ms, id) < (?2, coalesce(?3, 0), coalesce(?4, 0))
         ORDER BY ended_at_ms DESC, due_at_ms DESC, id DESC
         LIMIT ?5
        """

    static let update = """
        UPDATE schedule /* schedules.update */
           SET due_at_ms = ?1, version = ?2, expires_at_ms = ?3, content = ?4, target = ?5
         WHERE id = ?6
        """

    static let end = """
        UPDATE schedule /* schedules.end */
           SET ended_at_ms = ?1, ending = ?2, receipt_id = ?3, reason = ?4
         WHERE id = ?5 AND version = ?6 AND ended_at_ms IS NULL
        """

    /// Walks `schedule_application`.
    static let clear = """
        DELETE FROM schedule /* schedules.clear */
         WHERE id IN (SELECT id FROM schedule WHERE application_id = ?1 AND ended_at_ms < ?2
                       ORDER BY ended_at_ms LIMIT ?3)
        RETURNING length(CAST(content AS BLOB)) + length(CAST(target AS BLOB))
        """

    /// Walks `schedule_due`.
    static let due = """
        SELECT id, application_id, due_at_ms, version, lane, guarantee, expires_at_ms, content, target, created_at_ms,
               ended_at_ms, ending, receipt_id, reason /* schedules.due */
          FROM schedule
         WHERE ended_at_ms IS NULL AND due_at_ms <= ?1
           AND EXISTS (SELECT 1 FROM application WHERE application.id = application_id AND is_doomed = 0)
         ORDER BY due_at_ms, id
         LIMIT ?2
        """

    /// Walks `schedule_due` to the first of an application that is not being deleted.
    static let nextDue = """
        SELECT due_at_ms /* schedules.next_due */
          FROM schedule
         WHERE ended_at_ms IS NULL
           AND EXISTS (SELECT 1 FROM application WHERE application.id = application_id AND is_doomed = 0)
         ORDER BY due_at_ms
         LIMIT 1
        """
}
