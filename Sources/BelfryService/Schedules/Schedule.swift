package import FoundationEssentials

/// A push request that waits for its time, or for one time after another; afterwards the record of its result.
package struct Schedule: Sendable, Hashable {
    package let key: Key<Schedule>
    package let applicationKey: Key<Application>
    package private(set) var pushRequest: PushRequest
    /// `pausedDueAt` while it is paused.
    package private(set) var dueAt: Instant
    /// nil where it is sent once.
    package private(set) var recurrence: Recurrence?
    package private(set) var pausedAt: Instant?
    package let createdAt: Instant
    /// Raised by each change: a change based on an older version is refused.
    package private(set) var version: Int64
    /// nil while it waits.
    package private(set) var ending: Ending?
    /// The types of platform that would refuse it for its size today, for the answer to its sender; not stored.
    package var tooLarge: [InvalidInput] = []

    /// The time for which an ended schedule is kept for callers that ask for its result.
    package static let keptFor = Duration.seconds(30 * 86_400)
    /// Schedulers are signalled about a schedule that is due sooner than this; they find the others in time by
    /// themselves.
    package static let soon = Duration.seconds(60)

    /// The due time of paused schedules, so that no program takes them for due.
    package static let pausedDueAt = Instant(milliseconds: 253_370_764_800_000)
    /// A recurring schedule that skips missed times skips those that passed longer ago.
    package static let missedAfter = PushTimes.lateMax

    package struct Ending: Sendable, Hashable {
        package let how: How
        package let at: Instant

        package init(_ how: How, at: Instant) {
            self.how = how
            self.at = at
        }
    }

    package enum How: Sendable, Hashable {
        /// It became the push of this receipt.
        case sent(receiptID: UUID)
        case cancelled
        /// Its push would have expired before it could be sent.
        case expired
        /// When it was due, a platform could not accept the content; a human-readable reason.
        case refused(String)
        /// Nobody was to get it, or its condition did not hold; a human-readable reason.
        case needless(String)
        /// A time of a recurring schedule passed while no server ran, and it skips those.
        case missed
        /// A time of a recurring schedule by the clocks of each recipient has come to the first of them: this schedule takes it round the world.
        case started(Key<Schedule>)

        /// The name that lists use.
        package var name: String {
            switch self {
            case .sent: "sent"
            case .cancelled: "cancelled"
            case .expired: "expired"
            case .refused: "refused"
            case .needless: "not_needed"
            case .missed: "missed"
            case .started: "started"
            }
        }
    }

    /// A time of a recurring schedule that has come to the first clocks of the world: what becomes a schedule of its own.
    package struct Occurrence: Sendable, Hashable {
        /// The time, as its recurrence has it.
        package let at: Instant
        package let local: LocalDelivery
        /// When the first recipients get it.
        package let dueAt: Instant
    }

    /// The fields that a caller wants changed; nil leaves one as it is.
    package struct Change: Sendable, Hashable {
        package var content: Push.Content?
        /// Its fields that are nil stay as they are; nil takes those of the content.
        package let pacing: Pacing?
        package var target: Target?
        package let dueAt: Instant?
        package let expiresAt: Instant?
        package let lane: Lane?
        package let guarantee: Push.Guarantee?
        package let recurrence: Recurrence?
        package let verb: Verb?
        /// Fields to clear.
        package let removed: Set<Part>
        /// The version that the caller saw; nil changes any. A different current version makes the change an `EditConflict`.
        package let seen: Int64?

        /// The fields that can be cleared.
        package enum Part: Sendable, Hashable { case expiry, lane, recurrence, kind, throttle, reminders, condition }

        /// An operation on a recurring schedule. The raw values are those of paths.
        package enum Verb: String, Sendable, Hashable, CaseIterable {
            case pause, resume
            case skipNext = "skip-next"

            /// The name in the audit log.
            var action: String { "schedule.\(rawValue.replacing("-", with: "_"))" }
        }

        package init(
            content: Push.Content? = nil, pacing: Pacing? = nil, target: Target? = nil, dueAt: Instant? = nil,
            expiresAt: Instant? = nil, lane: Lane? = nil, guarantee: Push.Guarantee? = nil,
            recurrence: Recurrence? = nil, verb: Verb? = nil, removed: Set<Part> = [], seen: Int64? = nil
        ) {
            self.content = content
            self.pacing = pacing
            self.target = target
            self.dueAt = dueAt
            self.expiresAt = expiresAt
            self.lane = lane
            self.guarantee = guarantee
            self.recurrence = recurrence
            self.verb = verb
            self.removed = removed
            self.seen = seen
        }
    }

    package init(
        key: Key<Schedule>, applicationKey: Key<Application>, pushRequest: PushRequest, dueAt: Instant,
        createdAt: Instant, version: Int64, recurrence: Recurrence? = nil, pausedAt: Instant? = nil, ending: Ending?
    ) {
        self.key = key
        self.applicationKey = applicationKey
        self.pushRequest = pushRequest
        self.dueAt = dueAt
        self.createdAt = createdAt
        self.version = version
        self.recurrence = recurrence
        self.pausedAt = pausedAt
        self.ending = ending
    }

    /// Throws unless this is the version that the caller saw.
    package func check(_ change: Change) throws(EditConflict) {
        if let seen = change.seen, seen != version { throw EditConflict() }
    }

    /// This schedule with the changes, in its next version. Throws where a recurring one would have an expiry, a time of its own, or none left,
    /// where one that is sent once is paused, resumed or skipped, and where it is the reminders of a push.
    package func changed(by change: Change, at now: Instant) throws(InvalidInput) -> Schedule {
        guard reminders == nil else {
            throw InvalidInput(
                field: "schedule", "is the reminders of a push, which stay as they are: cancel it, or update the push")
        }
        var changed = self
        changed.version += 1
        changed.pushRequest.content = change.content ?? pushRequest.content
        changed.pushRequest.content.pacing = pushRequest.content.pacing.changed(by: change)
        changed.pushRequest.target = change.target ?? pushRequest.target
        changed.pushRequest.target.local = local
        guard local == nil || change.dueAt == nil && change.recurrence == nil else {
            throw InvalidInput(
                field: change.dueAt == nil ? "recurrence" : "send_at",
                "cannot be changed: the schedule has a local time. Cancel it, and make another")
        }
        changed.pushRequest.lane = change.removed.contains(.lane) ? nil : change.lane ?? pushRequest.lane
        changed.pushRequest.guarantee = change.guarantee ?? pushRequest.guarantee
        changed.pushRequest.expiresAt =
            change.removed.contains(.expiry) ? nil : change.expiresAt ?? pushRequest.expiresAt
        changed.recurrence = change.removed.contains(.recurrence) ? nil : change.recurrence ?? recurrence
        try changed.setTime(change, at: now)
        guard
            changed.pushRequest.content.pacing.unlessSent == nil || local == nil && changed.recurrence?.isLocal != true
        else {
            throw InvalidInput(field: "unless_sent", "does not go with the clocks of each recipient")
        }
        return changed
    }

    private mutating func setTime(_ change: Change, at now: Instant) throws(InvalidInput) {
        guard let recurrence else {
            guard change.verb == nil else {
                throw InvalidInput(
                    field: "schedule", "is sent once: only a recurring one is paused, resumed or skipped")
            }
            guard let dueAt = change.dueAt ?? (change.removed.contains(.recurrence) ? nil : dueAt) else {
                throw InvalidInput(field: "send_at", "is missing: without its recurrence the schedule has no time")
            }
            self.dueAt = dueAt
            pausedAt = nil
            return
        }
        guard change.dueAt == nil else {
            throw InvalidInput(
                field: "send_at", "is given, but the schedule recurs: change its recurrence, or set that to null")
        }
        try recurrence.check(pushRequest)
        if change.recurrence != nil || change.verb == .resume { dueAt = try recurrence.firstTime(after: now) }
        switch change.verb {
        case .pause?: pausedAt = pausedAt ?? now
        case .resume?: pausedAt = nil
        case .skipNext?: try skipNext(of: recurrence, at: now)
        case nil: break
        }
        if pausedAt != nil { dueAt = Self.pausedDueAt }
    }

    private mutating func skipNext(of recurrence: Recurrence, at now: Instant) throws(InvalidInput) {
        let time = pausedAt == nil ? dueAt : try recurrence.firstTime(after: now)
        let skipping = try recurrence.skipping(time)
        dueAt = try skipping.firstTime(after: max(time, now))
        self.recurrence = skipping
    }

    // MARK: Times

    /// The next time; nil while it is paused.
    package var nextAt: Instant? { pausedAt == nil ? dueAt : nil }

    /// The next times of a recurring schedule; of a paused one those it would have if it was resumed now.
    package func times(atMost limit: Int, now: Instant) -> [Instant] {
        guard let recurrence, ending == nil else { return [] }
        guard pausedAt == nil else { return recurrence.times(after: now, atMost: limit) }
        return [dueAt] + recurrence.times(after: max(dueAt, now), atMost: limit - 1)
    }

    /// Whether the time at which it was due is to be skipped.
    package func isMissed(at now: Instant) -> Bool {
        recurrence?.missed == .skip && dueAt + Self.missedAfter < now
    }

    /// The time that has come, of a recurring schedule by the clocks of each recipient; nil where no recipient is to get it any more.
    ///
    /// Times that have come to all recipients meanwhile, and later ones that have come to some, are one. Recipients whose clocks came to it
    /// while no server ran get it at once, or not where it skips missed times.
    package func occurrence(at now: Instant) -> Occurrence? {
        // The due time may be later than the time itself: a node that cannot read the schedule sets it aside.
        guard let recurrence, let past = recurrence.past, var time = recurrence.last(through: dueAt) else { return nil }
        while time + LocalDelivery.spread <= now, let next = recurrence.next(after: time), next <= now { time = next }
        let isMissed = recurrence.missed == .skip && max(time, createdAt) + Self.missedAfter < now
        let own = recurrence.localTime(at: time)
        let next = recurrence.next(after: time).map { recurrence.localTime(at: $0) }
        // Recipients who are late get the time of the next day, if there is one, and no other beside it.
        let isSkipped = isMissed || past == .nextDay && next?.day == own.day + 1
        let local = LocalDelivery(
            time: own, past: isSkipped ? .skip : past, zone: recurrence.zone,
            madeAt: isMissed ? now : max(createdAt, time + .milliseconds(-1)), parent: key)
        guard let first = local.next(after: local.madeAt + .milliseconds(-1)) else { return nil }
        return Occurrence(at: time, local: local, dueAt: first)
    }

    /// The push request of the schedule that takes an occurrence round the world.
    package func pushRequest(of occurrence: Occurrence) -> PushRequest {
        var pushRequest = pushRequest
        pushRequest.target.local = occurrence.local
        return pushRequest
    }

    /// This schedule in its next version, waiting for the time after an occurrence; nil where that is the last.
    package func moved(past occurrence: Occurrence) -> Schedule? {
        guard let next = recurrence?.next(after: occurrence.at) else { return nil }
        var moved = self
        moved.version += 1
        moved.dueAt = next
        return moved
    }

    /// A schedule by the clocks of recipients as it is looked at: all steps that have come by then are one.
    func looked(at now: Instant) -> Schedule {
        var looked = self
        if local != nil { looked.dueAt = max(dueAt, now) }
        return looked
    }

    /// This schedule after its time: ended, or waiting for its next time in its next version. However many times have passed meanwhile, it is one.
    package func finished(_ how: How, at now: Instant) -> Schedule {
        // Reminders end once nobody is left.
        let isOver = how == .cancelled || reminders != nil && how.reason != nil
        // A step by the clocks of recipients that fell due since it was looked at has recipients of its own.
        // A time that was missed may have others behind it that are not.
        let present = how == .missed ? now + (.zero - Self.missedAfter) : now
        let last = local == nil ? max(dueAt, present) : dueAt
        guard !isOver, let next = next(after: last) else { return ended(how, at: now) }
        var moved = self
        moved.version += 1
        moved.dueAt = next
        return moved
    }

    /// The next time of a schedule that has several; nil for none.
    package func next(after instant: Instant) -> Instant? {
        recurrence?.next(after: instant) ?? local?.next(after: instant)
            ?? reminders?.next(after: instant, of: createdAt)
    }

    /// The time by the clocks of each recipient; nil where it has none.
    package var local: LocalDelivery? { pushRequest.target.local }
    /// Whether it becomes several pushes.
    package var isRepeated: Bool { recurrence != nil || local != nil || reminders != nil }

    /// This schedule, ended.
    package func ended(_ how: How, at now: Instant) -> Schedule {
        var ended = self
        // The last time of a recurring one.
        ended.ending = Ending(how == .missed ? .expired : how, at: now)
        return ended
    }
}

/// The public id of a schedule: 16 hex digits, a bijective scrambling of its key. It hides the order, and is not a
/// secret.
extension Key where Noun == Schedule {
    private static var multiplier: UInt64 { 0xD6E8_FEB8_6659_FD93 }
    /// `multiplier` times this is 1, modulo 2⁶⁴.
    private static var inverseMultiplier: UInt64 { 0xCFEE_444D_8B59_A89B }

    package var id: String {
        var word = UInt64(bitPattern: rawValue) &* Self.multiplier
        word = (word ^ word >> 32) &* Self.multiplier
        let digits = String(word ^ word >> 32, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// nil for anything but 16 hex digits.
    package init?(id: String) {
        guard id.utf8.count == 16, let bytes = [UInt8](hex: id.utf8) else { return nil }
        var word = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        word = (word ^ word >> 32) &* Self.inverseMultiplier
        word = (word ^ word >> 32) &* Self.inverseMultiplier
        self.init(Int64(bitPattern: word))
    }
}

/// The result of one of the times of a recurring schedule.
package struct ScheduleRun: Sendable, Hashable {
    package let dueAt: Instant
    /// When it was sent, or not.
    package let at: Instant
    package let how: Schedule.How
    /// The state of the schedule that it started: `waiting`, or the name of its ending; nil where that is gone.
    package var childState: String?

    package init(dueAt: Instant, at: Instant, how: Schedule.How, childState: String? = nil) {
        (self.dueAt, self.at, self.how, self.childState) = (dueAt, at, how, childState)
    }

    /// The most that are kept of a schedule, the latest.
    package static let keptMax = 100
}
