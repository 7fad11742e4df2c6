package import FoundationEssentials

/// How often a push is sent again to those who have not opened it.
///
/// The reminders of a push are a schedule, which is made in the transaction that accepts it. Each goes to the devices of the push but those
/// that opened it or a reminder, and those of users who did so on another device; see `Acknowledgements`.
package struct Reminders: Sendable, Hashable {
    /// The time from the push to the first reminder, and from each to the next.
    package let every: TimeSpan
    package let times: Int

    private static let everyMin = Duration.seconds(60)
    private static let timesRange: ClosedRange<Int64> = 1...50
    /// The most from a push to its last reminder.
    private static let spanMax = Duration.seconds(7 * 86_400)

    /// Reads `{"every": "PT10M", "times": 5}`.
    package init(_ value: JSONValue, field: String) throws(InvalidInput) {
        let members = try value.members(field, of: ["every", "times"])
        every = try TimeSpan(members["every"], field: "\(field).every")
        guard every.milliseconds >= Self.everyMin.milliseconds else {
            throw InvalidInput(field: "\(field).every", "is \(every.text), it has to be PT1M or more")
        }
        guard let times = members["times"]?.wholeNumber, Self.timesRange ~= times else {
            throw InvalidInput(
                field: "\(field).times",
                "has to be from \(Self.timesRange.lowerBound) to \(Self.timesRange.upperBound)")
        }
        guard every.milliseconds * times <= Self.spanMax.milliseconds else {
            throw InvalidInput(field: field, "last for \(times) times \(every.text), the limit is P7D")
        }
        self.times = Int(times)
    }

    package var json: JSONValue { .object(["every": .string(every.text), "times": .integer(Int64(times))]) }

    /// As people read it.
    package var words: String {
        let span = every.words.hasPrefix("1 ") ? String(every.words.dropFirst(2)) : every.words
        return "every \(span), \(times == 1 ? "once" : "up to \(times) times"), until it is opened"
    }

    /// The time of the next reminder of a push that was accepted at a time; nil after the last.
    func next(after instant: Instant, of acceptedAt: Instant) -> Instant? {
        let number = max(0, (instant - acceptedAt).milliseconds) / every.milliseconds + 1
        return number <= times ? acceptedAt + .milliseconds(every.milliseconds * number) : nil
    }
}

/// A condition of a schedule: it sends only if no other push was sent for a while. So it is an alarm for what did not happen.
package struct UnlessSent: Sendable, Hashable {
    /// The time before the schedule is due.
    package let within: TimeSpan
    /// The kind of the pushes that count; nil for all.
    package let kind: String?

    private static let withinMax = Duration.seconds(31 * 86_400)

    /// Reads `{"within": "P1D", "kind": "report"}`.
    package init(_ value: JSONValue, field: String) throws(InvalidInput) {
        let members = try value.members(field, of: ["within", "kind"])
        within = try TimeSpan(members["within"], field: "\(field).within")
        guard within.milliseconds <= Self.withinMax.milliseconds else {
            throw InvalidInput(field: "\(field).within", "is \(within.text), the limit is P31D")
        }
        kind = try members["kind"].flatMap { (value) throws(InvalidInput) in
            if value.isNull { return nil }
            return try DeliveryRules.kind(try value.demandText("\(field).kind"), field: "\(field).kind")
        }
    }

    package var json: JSONValue {
        var members: JSONObject = ["within": .string(within.text)]
        members["kind"] = kind.map(JSONValue.string)
        return .object(members)
    }

    /// As people read it.
    package var words: String {
        "no other push\(kind.map { " of the kind \($0)" } ?? "") was sent within \(within.words) before"
    }
}

extension TimeSpan {
    fileprivate init(_ value: JSONValue?, field: String) throws(InvalidInput) {
        guard let value, !value.isNull else { throw InvalidInput.missing(field) }
        try self.init(try value.demandText(field), field: field)
    }
}

// MARK: Reminders as a schedule

extension PushRequest {
    /// The request of a push's reminders, which are shown in its place and count no badge up; nil where it has none.
    static func reminding(
        of receiptID: UUID, _ content: Push.Content, as pushRequest: PushRequest, in lane: Lane
    ) throws(InvalidInput) -> PushRequest? {
        guard content.pacing.reminders != nil, content.follows?.isReminder != true else { return nil }
        var reminder = content.withoutCounting
        reminder.pacing.rules = DeliveryRules()
        let followed = FollowedPush(receiptID, content, isReminder: true)
        guard !PlatformKind.allCases.contains(where: followed.isKeyedByDevice) else {
            throw InvalidInput(field: "reminders", "take the place of the push, whose key in custom differs by device")
        }
        reminder.follows = followed
        return PushRequest(
            content: reminder,
            target: Target(.all([.term(.sent([receiptID])), .not(.term(.reported(.opened, [receiptID])))])),
            lane: lane, guarantee: pushRequest.guarantee, expiresAt: pushRequest.expiresAt)
    }
}

extension Schedule {
    /// The reminders that it is; nil for any other schedule.
    package var reminders: Reminders? {
        let content = pushRequest.content
        return content.follows?.isReminder == true ? content.pacing.reminders : nil
    }
}

extension Store {
    /// The schedule that is the reminders of a push; nil where it has none, or they are kept no longer.
    package func reminders(of push: Key<Push>) async throws -> Key<Schedule>? {
        try await readCommitted { try $0.prepared(ReminderStatements.ofPush).first(push) { Key($0.integer(0)) } }
    }

    /// Whether a reminder in the place of a push is to come, or is not settled.
    func isReminding(of push: Key<Push>) async throws -> Bool {
        let isWaiting = try await readCommitted { try $0.prepared(ReminderStatements.waiting).hasRow(push) }
        return if isWaiting { true } else { try await !openReminders(of: push).isEmpty }
    }

    /// The reports of a push. Who opens a reminder of it has opened it.
    func reports(of push: Key<Push>) async throws -> [Key<Platform>: AnalyticsCounts] {
        let counts = try await counts(of: push)
        return try await readCommitted { db in
            try db.prepared(ReminderStatements.opened).all(push, AnalyticsKind.opened.rawValue) { row in
                (Key<Platform>(row.integer(0)), row.integer(1))
            }
        }.reduce(into: counts) { $0[$1.0, default: [:]][.opened, default: 0] += $1.1 }
    }

    /// The reminders in the place of a push that are not settled.
    func openReminders(of push: Key<Push>) async throws -> [Key<Push>] {
        try await readCommitted { try $0.prepared(ReminderStatements.open).all(push) { Key($0.integer(0)) } }
    }

    package func sentPush(
        of kind: String?, since: Instant, besides schedule: Schedule
    ) async throws -> (receiptID: UUID, at: Instant)? {
        let (application, now) = (schedule.applicationKey, clock.now)
        let own = Set(try await runs(of: schedule.key).compactMap(\.how.receiptID))
        return try await readCommitted { [damagedRows] db in
            let recent: [PushHead?] =
                if let kind {
                    try db.prepared(ReminderStatements.sentOfKind).all(application, since, kind) {
                        try damagedRows.pushHead($0)
                    }
                } else {
                    try db.prepared(ReminderStatements.sent).all(application, since) { try damagedRows.pushHead($0) }
                }
            var rest = recent.compactMap(\.self).filter { !own.contains($0.receiptID) }.sorted { $0.key > $1.key }[...]
            while !rest.isEmpty {
                let some = Array(rest.prefix(ReminderStatements.receiptsAtOnce))
                let found = try db.receipts(of: some, at: now, damagedRows).first { $0.mayBeTold }
                if let push = found?.push { return (push.receiptID, push.acceptedAt) }
                rest = rest.dropFirst(some.count)
            }
            return nil
        }
    }
}

extension Receipt {
    /// Whether a device may have got the push, or may get it yet.
    fileprivate var mayBeTold: Bool {
        settledAt == nil || counts[.accepted, default: 0] + counts[.unknown, default: 0] > 0
    }
}

extension WriteSession {
    /// Makes the schedule of a push's reminders.
    func remind(_ written: WrittenRequest, of push: Push) throws {
        guard let next = push.content.pacing.reminders?.next(after: now, of: now) else { return }
        let schedule = try insert(written, at: next, for: push.applicationKey)
        try prepared(ReminderStatements.bind).send(push.key, schedule.key)
    }

    /// Ends the reminders in the place of a push.
    func endReminders(of push: Key<Push>) throws {
        try prepared(ReminderStatements.end).each(push, now) { row in
            note(-1, .schedules, of: Key(row.integer(0)))
        }
    }
}

/// Finds who has opened a push with reminders, or one of these, within a write: all devices of a user count as those that opened it.
struct Acknowledgements<Session: WriteSession> {
    let session: Session
    let application: Key<Application>
    /// The push that each push reminds of, or that itself; nil for one that has none.
    private var reminded: [Key<Push>: Key<Push>?] = [:]
    private var platforms: [Key<Platform>] = []
    /// Users whose devices were found, each push with its own: who has many devices reports from all of them at the cost of one.
    private var users: [Key<Push>: Set<String>] = [:]

    init(session: Session, application: Key<Application>) { (self.session, self.application) = (session, application) }

    /// The most devices of one user on one platform that count.
    private static var devicesMax: Int { 256 }

    /// The push that is opened with a push, and the user's devices with their platforms; nil where nobody is reminded of it.
    mutating func acknowledged(
        by device: Key<Device>, opening push: Key<Push>
    ) throws -> (push: Key<Push>, devices: [(platform: Key<Platform>, device: Key<Device>)])? {
        guard let first = try reminded(by: push) else { return nil }
        let user = try session.prepared(ReminderStatements.user).first(device) { $0.textIfAny(0) } ?? nil
        guard let user, users[first, default: []].insert(user).inserted else { return (first, []) }
        if platforms.isEmpty {
            platforms = try session.prepared(ReminderStatements.platforms).all(application) { Key($0.integer(0)) }
        }
        let ofUser = try session.prepared(PostingStatements.customUser)
        let devices = try platforms.flatMap { platform in
            try ofUser.all(platform, user, 0, Self.devicesMax) { (platform, Key<Device>($0.integer(0))) }
        }
        return (first, devices)
    }

    private mutating func reminded(by push: Key<Push>) throws -> Key<Push>? {
        if let known = reminded[push] { return known }
        let found = try session.prepared(ReminderStatements.reminded).first(push) { Key<Push>($0.integer(0)) }
        reminded[push] = .some(found)
        return found
    }
}

enum ReminderStatements {
    static let bind: SQLText = "UPDATE schedule /* reminders.bind */ SET reminded_push_id = $1 WHERE id = $2"

    /// Scans `schedule_reminded`.
    static let ofPush: SQLText = """
        SELECT id /* reminders.of_push */ FROM schedule WHERE reminded_push_id = $1
        """

    /// Follows a column that must be a push in the place of the push `$1`: one that it follows, it, or one that follows one of these. Scans
    /// `follow_up_followed`.
    private static let inPlace: SQLText = """
        \(sqlite: "IN (", postgres: "= ANY (ARRAY(")
            WITH RECURSIVE earlier (id) AS (
                SELECT CAST($1 AS bigint) UNION ALL
                SELECT (SELECT followed_push_id FROM follow_up WHERE push_id = earlier.id) FROM earlier
                 WHERE earlier.id IS NOT NULL),
            kin (id) AS (
                SELECT id FROM earlier UNION
                SELECT \(sqlite: "push_id FROM kin JOIN follow_up ON followed_push_id = kin.id",
                    postgres: "unnest(ARRAY(SELECT push_id FROM follow_up WHERE followed_push_id = kin.id)) FROM kin"))
            SELECT id FROM kin\(sqlite: ")", postgres: "))")
        """

    /// Scans `schedule_reminded`.
    static let end: SQLText = """
        UPDATE schedule /* reminders.end */ SET ended_at_ms = $2, ending = 'cancelled'
         WHERE reminded_push_id \(inPlace) AND ended_at_ms + 0 IS NULL
        RETURNING application_id
        """

    /// Scans `schedule_reminded`.
    static let waiting: SQLText = """
        SELECT id /* reminders.waiting */ FROM schedule
         WHERE reminded_push_id \(inPlace) AND ended_at_ms + 0 IS NULL
         LIMIT 1
        """

    /// Scans `follow_up_followed`, and `batch_open` for those that were accepted with all their batches.
    static let open: SQLText = """
        SELECT push_id /* reminders.open */ FROM follow_up
         WHERE followed_push_id \(inPlace) AND is_reminder
           AND coalesce(
                   (SELECT settled_at_ms IS NULL FROM push_progress WHERE push_progress.push_id = follow_up.push_id),
                   (SELECT true FROM batch
                     WHERE batch.push_id = follow_up.push_id AND is_whole = true AND is_open = true
                     LIMIT 1))
        """

    /// Scans `schedule_reminded`.
    static let reminded: SQLText = """
        SELECT reminded_push_id /* reminders.reminded */ FROM schedule
         WHERE reminded_push_id IN (
                   SELECT $1 UNION ALL
                   SELECT follow_up.followed_push_id FROM follow_up WHERE follow_up.push_id = $1 AND is_reminder)
         LIMIT 1
        """

    /// Scans `follow_up_followed`, and the primary key of `push_count`.
    static let opened: SQLText = """
        SELECT platform_id, event_count /* reminders.opened */ FROM push_count
         WHERE push_id IN (SELECT push_id FROM follow_up WHERE followed_push_id = $1 AND is_reminder) AND kind = $2
        """

    static let user: SQLText = "SELECT custom_user_id /* reminders.user */ FROM device WHERE id = $1"

    /// Scans `platform_application`.
    static let platforms: SQLText = "SELECT id /* reminders.platforms */ FROM platform WHERE application_id = $1"

    /// The receipts that are read at once, to find one of a push that went to somebody.
    static let receiptsAtOnce = 50

    /// Scans `push_application` backwards.
    static let sent: SQLText = sent("reminders.sent", where: "application_id = $1")

    /// Scans `push_kind` backwards.
    static let sentOfKind: SQLText = sent("reminders.sent_of_kind", where: "application_id = $1 AND kind = $3")

    private static func sent(_ name: String, where condition: String) -> SQLText {
        """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms /* \(name) */
          FROM (SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
                  FROM push
                 WHERE \(condition)
                 ORDER BY id DESC
                 LIMIT 1000) AS recent
         WHERE accepted_at_ms >= $2 AND (SELECT is_reminder FROM follow_up WHERE push_id = recent.id) IS NULL
        """
    }
}

/// Adds reminders to schedules, and the kinds of pushes, by which alarms look for them.
///
/// The previous release sends reminders once and not as reminders, and ignores a schedule's condition.
enum ReminderMigration: SchemaMigration {
    static let identifier = "0020 reminders and kinds of pushes (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- The push whose reminders a schedule is; see `Reminders`. It may be gone.
                ALTER TABLE schedule ADD COLUMN reminded_push_id \(.bigint);
                CREATE INDEX schedule_reminded ON schedule (reminded_push_id) WHERE reminded_push_id IS NOT NULL;
                ALTER TABLE follow_up ADD COLUMN \(flag: "is_reminder", false);

                -- See `Pacing.kind`; NULL for none, and for pushes from before this column.
                ALTER TABLE push ADD COLUMN kind text;
                CREATE INDEX push_kind ON push (application_id, kind, id) WHERE kind IS NOT NULL;
                """)
    }
}
