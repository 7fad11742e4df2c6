/// The times at which a schedule is sent again and again: a rule, its first day and time by the clocks of a time zone, and exceptions.
///
/// Each day of the rule has one time. A time that the clocks skip is the first instant after the gap; one that they show twice is the
/// first of the two. Days of the rule before the start do not count, and the start itself only where the rule names its day.
package struct Recurrence: Sendable, Hashable {
    package let rule: RecurrenceRule
    package let start: LocalTime
    package let zone: ZoneInfo
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
        rule: RecurrenceRule, start: LocalTime, zone: ZoneInfo, except: [String] = [], missed: Missed = .runOnce,
        field: String = "recurrence"
    ) throws(InvalidInput) {
        guard except.count <= Self.exceptionsMax else {
            throw InvalidInput(
                field: "\(field).except", "has \(except.count) times, the limit is \(Self.exceptionsMax)")
        }
        var exceptions: Set<Exception> = []
        for (index, text) in except.enumerated() {
            exceptions.insert(try Exception(text, at: start, field: "\(field).except[\(index)]"))
        }
        try self.init(rule, start, zone, exceptions.sorted(), missed, field)
    }

    private init(
        _ rule: RecurrenceRule, _ start: LocalTime, _ zone: ZoneInfo, _ except: [Exception], _ missed: Missed,
        _ field: String
    ) throws(InvalidInput) {
        (self.rule, self.start, self.zone, self.except, self.missed) = (rule, start, zone, except, missed)
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

    /// The first time after an instant; throws where none is left.
    package func firstTime(after instant: Instant) throws(InvalidInput) -> Instant {
        guard let next = next(after: instant) else {
            throw InvalidInput(field: "recurrence", "has no time after \(instant.text): cancel the schedule")
        }
        return next
    }

    /// The first time after an instant; nil if none is left.
    package func next(after instant: Instant) -> Instant? { times(after: instant, atMost: 1).first }

    /// The next times, ascending. Two days whose times are one instant, after a day that the clocks skip, are one.
    package func times(after instant: Instant, atMost limit: Int) -> [Instant] {
        var times: [Instant] = []
        // A day that the clocks skip has its time a day later.
        var days = RuleDays(rule, start: start, from: zone.local(at: instant).day - 2)
        while times.count < limit, let day = days.next() {
            let local = LocalTime(day: day, second: start.second)
            let time = zone.instant(of: local)
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
        let today = zone.local(at: time).day
        let days = (-2...0).map { today + $0 }.filter {
            zone.instant(of: LocalTime(day: $0, second: start.second)) == time
        }
        var kept = except.filter { exception in !days.contains(exception.day) }
        if kept.count + days.count > Self.exceptionsMax { kept = kept.filter { $0.day >= today - 2 } }
        guard kept.count + days.count <= Self.exceptionsMax else {
            throw InvalidInput(
                field: "recurrence.except", "has \(kept.count) times, the limit is \(Self.exceptionsMax)")
        }
        return try Recurrence(
            rule, start, zone, (kept + days.map { Exception(day: $0, hasTime: false) }).sorted(), missed, "recurrence")
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
