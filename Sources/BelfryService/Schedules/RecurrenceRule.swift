/// A rule by which days repeat: the part of `RRULE` that schedules take. Source: RFC 5545 §3.3.10.
///
/// `FREQ=DAILY`, `WEEKLY` with `BYDAY`, and `MONTHLY` with `BYDAY` (`2MO`, `-1FR`) or `BYMONTHDAY` (`15`, `-1`); with each `INTERVAL`, and
/// `COUNT` or `UNTIL`. Any other part is refused by its name. Weeks begin on Monday.
package struct RecurrenceRule: Sendable, Hashable {
    let days: Days
    let interval: Int64
    let end: End?

    /// The days of a period. Empty lists stand for the day of the start.
    enum Days: Sendable, Hashable {
        case daily
        /// Weekdays from 0 for Monday, ascending.
        case weekly([Int])
        case monthly([MonthDay])

        var frequency: String {
            switch self {
            case .daily: "DAILY"
            case .weekly: "WEEKLY"
            case .monthly: "MONTHLY"
            }
        }
    }

    enum MonthDay: Sendable, Hashable {
        /// The date, or counted from the end of the month where it is negative.
        case date(Int)
        /// The nth such weekday, from the end where it is negative; 0 for each.
        case weekday(Int, ordinal: Int)
    }

    enum End: Sendable, Hashable {
        case count(Int)
        /// The end of a day.
        case day(Int64)
        case local(LocalTime)
        case instant(Instant)
    }

    static let bytesMax = 256
    static let intervalMax: Int64 = 999
    static let countMax = 1_000

    /// - Parameter field: of the text, for errors, which also name the part.
    package init(_ text: String, field: String) throws(InvalidInput) {
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
        }
        let parts = try RuleParts(text, field: field)
        interval = Int64(try parts.number("INTERVAL", in: 1...Int(Self.intervalMax)) ?? 1)
        days = try parts.days()
        end = try parts.end()
        try parts.checkRest()
    }

    /// The rule as RFC 5545 writes it.
    package var text: String {
        var parts = ["FREQ=\(days.frequency)"]
        if interval > 1 { parts.append("INTERVAL=\(interval)") }
        switch days {
        case .weekly(let weekdays) where !weekdays.isEmpty:
            parts.append("BYDAY=\(weekdays.map { Self.weekdays[$0] }.joined(separator: ","))")
        case .monthly(let days) where !days.isEmpty:
            let isDate = if case .date? = days.first { true } else { false }
            parts.append("\(isDate ? "BYMONTHDAY" : "BYDAY")=\(days.map(\.text).joined(separator: ","))")
        default: break
        }
        switch end {
        case .count(let count)?: parts.append("COUNT=\(count)")
        case .day(let day)?: parts.append("UNTIL=\(LocalTime(day: day, second: 0).dayText.basic)")
        case .local(let time)?: parts.append("UNTIL=\(LocalTime.full(time).basic)")
        case .instant(let instant)?:
            parts.append("UNTIL=\(LocalTime.full(LocalTime(seconds: instant.milliseconds / 1_000)).basic)Z")
        case nil: break
        }
        return parts.joined(separator: ";")
    }

    static let weekdays = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
}

extension RecurrenceRule.MonthDay {
    fileprivate var text: String {
        switch self {
        case .date(let date): "\(date)"
        case .weekday(let weekday, let ordinal):
            "\(ordinal == 0 ? "" : "\(ordinal)")\(RecurrenceRule.weekdays[weekday])"
        }
    }
}

extension LocalTime {
    fileprivate static func full(_ time: LocalTime) -> String {
        String(Instant(milliseconds: time.seconds * 1_000).text.prefix(19))
    }
}

extension String {
    /// A time as RFC 5545 writes it.
    fileprivate var basic: String { filter { $0 != "-" && $0 != ":" } }
}

/// The parts of a rule's text by their names.
private struct RuleParts {
    private let field: String
    private let values: [String: Substring]

    private static let names = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "WKST"]
    private static let others = [
        "BYSECOND", "BYMINUTE", "BYHOUR", "BYYEARDAY", "BYWEEKNO", "BYMONTH", "BYSETPOS", "RSCALE", "SKIP",
    ]
    private static let frequencies = ["DAILY", "WEEKLY", "MONTHLY"]

    init(_ text: String, field: String) throws(InvalidInput) {
        var values: [String: Substring] = [:]
        let written = text.uppercased()
        let rule = written.hasPrefix("RRULE:") ? written.dropFirst(6) : written[...]
        for part in rule.split(separator: ";", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[1].isEmpty else {
                throw InvalidInput(
                    field: field, "has the part '\(part.prefix(32))', it has to be such as FREQ=WEEKLY;BYDAY=MO,TH")
            }
            let name = String(pair[0])
            guard Self.names.contains(name) else { throw Self.unknown(name, field) }
            guard values.updateValue(pair[1], forKey: name) == nil else {
                throw InvalidInput(field: field, "has \(name) twice")
            }
        }
        (self.field, self.values) = (field, values)
    }

    private static func unknown(_ name: String, _ field: String) -> InvalidInput {
        if name == "EXDATE" {
            return InvalidInput(field: field, "has EXDATE, which is no part of a rule: list the days in except")
        }
        return InvalidInput(
            field: field,
            others.contains(name)
                ? "has \(name), which schedules do not take: they take \(names.dropLast().joined(separator: ", "))"
                : "has '\(name.prefix(32))', which is no part of a rule")
    }

    func fault(_ name: String, _ words: String) -> InvalidInput {
        InvalidInput(field: field, "has \(name)=\(values[name]?.prefix(64) ?? ""): \(words)")
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws(InvalidInput) -> Int? {
        guard let text = values[name] else { return nil }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text), range ~= number else {
            throw fault(name, "it has to be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func days() throws(InvalidInput) -> RecurrenceRule.Days {
        guard let frequency = values["FREQ"] else { throw InvalidInput(field: field, "lacks FREQ") }
        switch frequency {
        case "DAILY": return .daily
        case "WEEKLY":
            var weekdays: Set<Int> = []
            for item in items("BYDAY") {
                guard let weekday = RecurrenceRule.weekdays.firstIndex(of: String(item)) else {
                    throw fault("BYDAY", "weeks have the days \(RecurrenceRule.weekdays.joined(separator: ", "))")
                }
                weekdays.insert(weekday)
            }
            return .weekly(weekdays.sorted())
        case "MONTHLY": return .monthly(try monthDays())
        default:
            let advice = frequency == "YEARLY" ? " (a year is FREQ=MONTHLY;INTERVAL=12)" : ""
            throw fault("FREQ", "it has to be one of \(Self.frequencies.joined(separator: ", "))\(advice)")
        }
    }

    private func monthDays() throws(InvalidInput) -> [RecurrenceRule.MonthDay] {
        guard values["BYDAY"] == nil || values["BYMONTHDAY"] == nil else {
            throw InvalidInput(field: field, "has BYDAY and BYMONTHDAY, which exclude each other here")
        }
        var days: [RecurrenceRule.MonthDay] = []
        for item in items("BYMONTHDAY") {
            guard let date = Self.signed(item), 1...31 ~= abs(date) else {
                throw fault("BYMONTHDAY", "days of a month are 1 to 31, or -1 to -31 from its end")
            }
            if !days.contains(.date(date)) { days.append(.date(date)) }
        }
        for item in items("BYDAY") {
            let ordinal = item.count == 2 ? 0 : Self.signed(item.dropLast(2))
            guard let weekday = RecurrenceRule.weekdays.firstIndex(of: String(item.suffix(2))), let ordinal,
                item.count == 2 || 1...5 ~= abs(ordinal)
            else { throw fault("BYDAY", "days are such as MO, 2MO and -1FR, with a number from 1 to 5") }
            let day = RecurrenceRule.MonthDay.weekday(weekday, ordinal: ordinal)
            if !days.contains(day) { days.append(day) }
        }
        return days
    }

    func end() throws(InvalidInput) -> RecurrenceRule.End? {
        let count = try number("COUNT", in: 1...RecurrenceRule.countMax)
        guard let until = values["UNTIL"] else { return count.map { .count($0) } }
        guard count == nil else { throw InvalidInput(field: field, "has COUNT and UNTIL, which exclude each other") }
        let digits = Array(until)
        guard [8, 15, 16].contains(digits.count), until.utf8.allSatisfy({ $0 < 0x80 }),
            digits.count == 8 || digits[8] == "T", digits.count < 16 || digits[15] == "Z"
        else { throw fault("UNTIL", "it has to be such as 20261231, 20261231T090000 or 20261231T080000Z") }
        let day = "\(String(digits[0..<4]))-\(String(digits[4..<6]))-\(String(digits[6..<8]))"
        let time =
            digits.count == 8
            ? "00:00:00" : "\(String(digits[9..<11])):\(String(digits[11..<13])):\(String(digits[13..<15]))"
        guard let local = try? LocalTime("\(day)T\(time)", field: field) else {
            throw fault(
                "UNTIL",
                "there is no such time in the years \(LocalTime.years.lowerBound) to \(LocalTime.years.upperBound)")
        }
        switch digits.count {
        case 8: return .day(local.day)
        case 15: return .local(local)
        default: return .instant(Instant(milliseconds: local.seconds * 1_000))
        }
    }

    /// Refuses the parts that the frequency does not take.
    func checkRest() throws(InvalidInput) {
        if let weekStart = values["WKST"], weekStart != "MO" { throw fault("WKST", "weeks begin on Monday here") }
        if values["FREQ"] == "DAILY", values["BYDAY"] != nil {
            throw fault("BYDAY", "FREQ=DAILY takes no weekdays, write FREQ=WEEKLY")
        }
        if values["FREQ"] != "MONTHLY", values["BYMONTHDAY"] != nil {
            throw fault("BYMONTHDAY", "only FREQ=MONTHLY takes days of a month")
        }
    }

    private func items(_ name: String) -> [Substring] {
        values[name]?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    }

    private static func signed(_ text: Substring) -> Int? {
        let digits = text.first == "-" || text.first == "+" ? text.dropFirst() : text
        guard 1...2 ~= digits.utf8.count, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int(text)
    }
}
