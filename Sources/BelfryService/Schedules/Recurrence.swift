/// The times at which a schedule is sent again and again: a rule, its first day and time by the clocks of a time zone, and exceptions.
///
/// Each day of the rule has one time. A time that the clocks skip is the first instant after the gap; one that they show twice is the
/// first of the two. Days of the rule before the start do not count, and the start itself only where the rule names its day.
///
/// By the clocks of each recipient, its times are those at which the first clocks of the world come to the day and time. Each of them is
/// then a schedule of its own, which goes round the world; see `Schedule.Occurrence`.
package struct Recurrence: Sendable, Hashable {
    package let rule: RecurrenceRule
    package let start: LocalTime
    /// By the clocks of each recipient that of devices where none is known.
    package let zone: ZoneInfo
    /// The treatment of devices whose clocks are past a time when the schedule is made; nil where it goes by the clocks of `zone`, not by
    /// those of each recipient.
    package let past: LocalDelivery.Past?
    /// Ascending.
    package let except: [Exception]
    package let missed: Missed
    /// The last day; nil where it goes on.
    private let lastDay: Int64?

    /// A day on which it is not sent.
    package struct Exception: Sendable, Hashable, Comparable {
        let day: Int64
        /// Whether it was written with the time.
        let hasTime: Bool

        package static func < (left: Self, right: Self) -> Bool { left.day < right.day }
    }

    /// The consequence of times that passed while no server ran.
    package enum Missed: String, Sendable, Hashable, CaseIterable {
        /// However many passed, one is sent.
        case runOnce = "run_once"
        case skip
    }

    package static let exceptionsMax = 366
    /// The periods in a row that may lack a day of the rule. Twelve months to 29 February are at most eight, to a fifth Monday in February
    /// at most forty.
    static let emptyPeriodsMax = 480

    /// Throws where no day fits the rule, and where an exception is at another time of day.
    package init(
        rule: RecurrenceRule, start: LocalTime, zone: ZoneInfo, past: LocalDelivery.Past? = nil, except: [String] = [],
        missed: Missed = .runOnce, field: String = "recurrence"
    ) throws(InvalidInput) {
        if past != nil, case .instant? = rule.end {
            throw InvalidInput(
                field: "\(field).rule", "has UNTIL in UTC: by the clocks of each recipient it is written without Z")
        }
        guard except.count <= Self.exceptionsMax else {
            throw InvalidInput(
                field: "\(field).except", "has \(except.count) times, the limit is \(Self.exceptionsMax)")
        }
        var exceptions: Set<Exception> = []
        for (index, text) in except.enumerated() {
            exceptions.insert(try Exception(text, at: start, field: "\(field).except[\(index)]"))
        }
        try self.init(rule, start, zone, past, exceptions.sorted(), missed, field)
    }

    private init(
        _ rule: RecurrenceRule, _ start: LocalTime, _ zone: ZoneInfo, _ past: LocalDelivery.Past?,
        _ except: [Exception], _ missed: Missed, _ field: String
    ) throws(InvalidInput) {
        (self.rule, self.start, self.zone, self.past) = (rule, start, zone, past)
        (self.except, self.missed) = (except, missed)
        var days = RuleDays(rule, start: start, from: start.day)
        var last = days.next()
        guard last != nil else {
            throw InvalidInput(
                field: "\(field).rule",
                "fits no day: none of the next \(Self.emptyPeriodsMax) periods from \(start.dayText) on has one")
        }
        if case .count(let count)? = rule.end {
            for _ in 1..<count { last = days.next() ?? last }
            lastDay = last
        } else {
            lastDay = nil
        }
    }

    /// Throws where the push has an expiry, which would be over at later times.
    func check(_ pushRequest: PushRequest) throws(InvalidInput) {
        guard pushRequest.expiresAt != nil else { return }
        throw InvalidInput(field: "expires_at", "is given, but the push recurs: end the recurrence by UNTIL or COUNT")
    }

    // MARK: Times

    /// Whether it goes by the clocks of each recipient.
    package var isLocal: Bool { past != nil }
    /// The clocks by which its times come.
    private var clocks: ZoneInfo { isLocal ? .earliest : zone }

    /// The first time after an instant; throws where none is left.
    ///
    /// - Parameter isNew: whether a time counts that has come, but not yet to the clocks of all recipients.
    package func firstTime(after instant: Instant, isNew: Bool = false) throws(InvalidInput) -> Instant {
        guard let next = next(after: isNew ? begin(at: instant) : instant) else {
            let advice = isNew ? "" : ": cancel the schedule"
            throw InvalidInput(field: "recurrence", "has no time after \(instant.text)\(advice)")
        }
        return next
    }

    /// The instant after which the times of a schedule are that is made at an instant: by the clocks of each recipient a time counts that is
    /// still to come somewhere.
    package func begin(at instant: Instant) -> Instant {
        isLocal ? instant + (.zero - LocalDelivery.spread) : instant
    }

    /// The last time of a recurrence by the clocks of each recipient up to an instant; nil where it has none in the two days before.
    func last(through instant: Instant) -> Instant? {
        times(after: instant + .seconds(-2 * 86_400), atMost: 3).last { $0 <= instant }
    }

    /// The day and time that the clocks of each recipient show.
    package func localTime(at time: Instant) -> LocalTime {
        LocalTime(day: clocks.local(at: time).day, second: start.second)
    }

    /// The first time after an instant; nil if none is left.
    package func next(after instant: Instant) -> Instant? { times(after: instant, atMost: 1).first }

    /// The next times, ascending. Two days whose times are one instant, after a day that the clocks skip, are one.
    package func times(after instant: Instant, atMost limit: Int) -> [Instant] {
        var times: [Instant] = []
        // A day that the clocks skip has its time a day later.
        var days = RuleDays(rule, start: start, from: clocks.local(at: instant).day - 2)
        while times.count < limit, let day = days.next() {
            let local = LocalTime(day: day, second: start.second)
            let time = clocks.instant(of: local)
            guard isBeforeEnd(local, time) else { break }
            if time > max(instant, times.last ?? instant), !isExcepted(day) { times.append(time) }
        }
        return times
    }

    private func isBeforeEnd(_ local: LocalTime, _ time: Instant) -> Bool {
        if let lastDay { return local.day <= lastDay }
        switch rule.end {
        case nil, .count?: return true
        case .day(let day)?: return local.day <= day
        case .local(let end)?: return local <= end
        case .instant(let end)?: return time <= end
        }
    }

    private func isExcepted(_ day: Int64) -> Bool {
        var (low, high) = (0, except.count)
        while low < high {
            let middle = (low + high) / 2
            if except[middle].day < day { low = middle + 1 } else { high = middle }
        }
        return low < except.count && except[low].day == day
    }

    /// The recurrence without one of its times. Exceptions that have passed make room for it.
    package func skipping(_ time: Instant) throws(InvalidInput) -> Recurrence {
        // The day whose time it is; after a gap that may be an earlier one.
        let today = clocks.local(at: time).day
        let days = (-2...0).map { today + $0 }.filter {
            clocks.instant(of: LocalTime(day: $0, second: start.second)) == time
        }
        var kept = except.filter { exception in !days.contains(exception.day) }
        if kept.count + days.count > Self.exceptionsMax { kept = kept.filter { $0.day >= today - 2 } }
        guard kept.count + days.count <= Self.exceptionsMax else {
            throw InvalidInput(
                field: "recurrence.except", "has \(kept.count) times, the limit is \(Self.exceptionsMax)")
        }
        return try Recurrence(
            rule, start, zone, past, (kept + days.map { Exception(day: $0, hasTime: false) }).sorted(), missed,
            "recurrence")
    }
}

extension Recurrence.Exception {
    /// Reads a day such as 2026-12-24, or the time of a day.
    fileprivate init(_ text: String, at start: LocalTime, field: String) throws(InvalidInput) {
        guard text.utf8.count == 10 else {
            let time = try LocalTime(text, field: field)
            guard time.second == start.second else {
                throw InvalidInput(field: field, "is at \(time.timeText), but it is sent at \(start.timeText)")
            }
            (day, hasTime) = (time.day, true)
            return
        }
        hasTime = false
        day = LocalTime(seconds: try Instant(day: text, field: field).milliseconds / 1_000).day
    }

    func text(at start: LocalTime) -> String {
        let time = LocalTime(day: day, second: start.second)
        return hasTime ? time.text : time.dayText
    }
}

/// The days of a rule from a day on, ascending. Ends after many periods without one.
struct RuleDays: IteratorProtocol {
    private let rule: RecurrenceRule
    private let startDay: Int64
    private let from: Int64
    /// The month of the start, counted from year 0.
    private let startMonth: Int64
    private let monthDays: [RecurrenceRule.MonthDay]
    private var period: Int64
    private var buffer: ArraySlice<Int64> = []

    init(_ rule: RecurrenceRule, start: LocalTime, from: Int64) {
        let (year, month, date) = RFC3339.date(start.day)
        (self.rule, startDay, self.from) = (rule, start.day, max(from, start.day))
        startMonth = year * 12 + month - 1
        monthDays = if case .monthly(let days) = rule.days, !days.isEmpty { days } else { [.date(Int(date))] }
        let first =
            switch rule.days {
            case .daily: self.from - startDay
            case .weekly: (self.from - Self.monday(of: startDay)) / 7
            case .monthly: Self.month(of: self.from) - startMonth
            }
        period = first / rule.interval
    }

    mutating func next() -> Int64? {
        var empty = 0
        while buffer.isEmpty {
            guard empty < Recurrence.emptyPeriodsMax else { return nil }
            buffer = days(of: period)[...]
            if let last = buffer.last, RFC3339.date(last).0 > LocalTime.years.upperBound {
                buffer = []
                return nil
            }
            period += 1
            empty += 1
        }
        return buffer.popFirst()
    }

    private func days(of period: Int64) -> [Int64] {
        let days: [Int64]
        switch rule.days {
        case .daily: days = [startDay + period * rule.interval]
        case .weekly(let weekdays):
            let monday = Self.monday(of: startDay) + period * rule.interval * 7
            days = (weekdays.isEmpty ? [LocalTime.weekday(of: startDay)] : weekdays).map { monday + Int64($0) }
        case .monthly:
            let month = startMonth + period * rule.interval
            let (year, number) = (month / 12, month % 12 + 1)
            let first = RFC3339.days(year, number, 1)
            let length = RFC3339.days(in: number, of: year)
            days = Set(monthDays.flatMap { $0.days(from: first, length) }).sorted()
        }
        return days.filter { $0 >= from }
    }

    private static func monday(of day: Int64) -> Int64 { day - Int64(LocalTime.weekday(of: day)) }

    private static func month(of day: Int64) -> Int64 {
        let (year, month, _) = RFC3339.date(day)
        return year * 12 + month - 1
    }
}

extension RecurrenceRule.MonthDay {
    /// The days of a month, given its first and its length.
    fileprivate func days(from first: Int64, _ length: Int64) -> [Int64] {
        switch self {
        case .date(let date):
            let date = date > 0 ? Int64(date) : length + Int64(date) + 1
            return 1...length ~= date ? [first + date - 1] : []
        case .weekday(let weekday, let ordinal):
            let start = first + Int64((weekday - LocalTime.weekday(of: first) + 7) % 7)
            let all = Array(stride(from: start, to: first + length, by: 7))
            if ordinal == 0 { return all }
            let index = ordinal > 0 ? ordinal - 1 : all.count + ordinal
            return all.indices ~= index ? [all[index]] : []
        }
    }
}
