extension Recurrence {
    /// A sentence for people: `every Monday and Thursday at 09:00, Europe/Vienna`, or `every Tuesday at 09:00 of each recipient`.
    package var words: String { ([when] + [endWords, exceptionWords].compactMap(\.self)).joined(separator: ", ") }

    private var when: String {
        "\(dayWords) at \(start.timeText)"
            + (isLocal ? " of each recipient, \(zone.name) where none is known" : ", \(zone.name)")
    }

    private var dayWords: String {
        switch rule.days {
        case .daily: return rule.interval == 1 ? "every day" : "every \(rule.interval) days from \(start.dayText)"
        case .weekly(let days):
            let names = (days.isEmpty ? [LocalTime.weekday(of: start.day)] : days).map { Self.weekdays[$0] }.listed
            return rule.interval == 1
                ? "every \(names)" : "every \(rule.interval) weeks from \(start.dayText) on \(names)"
        case .monthly(let days):
            let date = Int(start.dayText.suffix(2)) ?? 1
            let names = (days.isEmpty ? [.date(date)] : days).map(Self.words).listed
            return
                "on \(names) of every \(rule.interval == 1 ? "month" : "\(rule.interval.ordinal) month from \(start.dayText.prefix(7))")"
        }
    }

    private static func words(of day: RecurrenceRule.MonthDay) -> String {
        switch day {
        case .date(let date): date > 0 ? "the \(Int64(date).ordinal)" : "the \(fromEnd(date))day"
        case .weekday(let day, ordinal: 0): "each \(weekdays[day])"
        case .weekday(let day, let ordinal) where ordinal > 0: "the \(Int64(ordinal).ordinal) \(weekdays[day])"
        case .weekday(let day, let ordinal): "the \(fromEnd(ordinal))\(weekdays[day])"
        }
    }

    private static func fromEnd(_ number: Int) -> String {
        number == -1 ? "last " : "\(Int64(-number).ordinal) last "
    }

    private var endWords: String? {
        switch rule.end {
        case nil: nil
        case .count(1)?: "once"
        case .count(let count)?: "\(count) times from \(start.dayText)"
        case .day(let day)?: "until \(LocalTime(day: day, second: 0).dayText)"
        case .local(let time)?: "until \(time.text)"
        case .instant(let instant)?: "until \(zone.local(at: instant).text)"
        }
    }

    /// The most exceptions that are named.
    private static let namedMax = 3

    private var exceptionWords: String? {
        guard !except.isEmpty else { return nil }
        let days = except.map { LocalTime(day: $0.day, second: 0).dayText }
        let rest = days.count - Self.namedMax
        return "except on " + (rest > 1 ? days.prefix(Self.namedMax) + ["\(rest) other days"] : days[...]).listed
    }

    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}

extension Collection where Element == String, Index == Int {
    /// `a, b and c`.
    fileprivate var listed: String {
        count < 2 ? joined() : "\(dropLast().joined(separator: ", ")) and \(self[endIndex - 1])"
    }
}

extension Int64 {
    /// `1st`, `2nd`, `12th`.
    fileprivate var ordinal: String {
        switch (self % 10, self % 100) {
        case (_, 11...13): "\(self)th"
        case (1, _): "\(self)st"
        case (2, _): "\(self)nd"
        case (3, _): "\(self)rd"
        default: "\(self)th"
        }
    }
}
