package import BelfryService

/// A month of UTC, as a table of weeks.
package struct Calendar: Sendable {
    package let title: String
    package let previous: Link
    package let next: Link
    package let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    package let weeks: [Week]

    package struct Week: Sendable {
        package let days: [Day]
    }

    package struct Day: Sendable {
        /// The day of the month; empty before its first and after its last.
        package let number: String
        /// The day with the month, for narrow screens and screen readers.
        package let label: String
        package let isToday: Bool
        package let isEmpty: Bool
        package let entries: [Entry]
        /// The number of entries that are not listed, in words.
        package let more: String
    }

    /// An event at a time of a day.
    package struct Entry: Sendable {
        package let at: Instant
        package let time: String
        package let text: String
        package let href: String
        package let tone: String

        package init(_ at: Instant, _ text: String, _ href: String, _ tone: Value.Tone) {
            self.at = at
            time = String(at.text.dropFirst(11).prefix(5))
            self.text = text
            self.href = href
            self.tone = tone.rawValue
        }
    }

    /// The most entries of a day that are named.
    private static let entriesMax = 4

    /// - Parameters:
    ///   - entries: of the month, in any order.
    ///   - link: the address of the same page for another month.
    package init(_ month: Month, _ entries: [Entry], today: Instant, link: (Month) -> String) {
        title = month.name
        previous = Link("← \(month.previous.name)", link(month.previous))
        next = Link("\(month.next.name) →", link(month.next))
        let byDay = Dictionary(grouping: entries) { Int($0.at.text.dropFirst(8).prefix(2)) ?? 0 }
        let todayText = today.text.prefix(10)
        var days = (0..<month.firstWeekday).map { _ in Self.blank }
        for number in 1...month.days {
            let found = (byDay[number] ?? []).sorted { $0.at < $1.at }
            let rest = found.count - Self.entriesMax
            days.append(
                Day(
                    number: "\(number)", label: "\(number) \(month.name)",
                    isToday: month.day(number) == todayText, isEmpty: found.isEmpty,
                    entries: Array(found.prefix(Self.entriesMax)), more: rest > 0 ? "and \(rest) more" : ""))
        }
        while !days.count.isMultiple(of: 7) { days.append(Self.blank) }
        weeks = stride(from: 0, to: days.count, by: 7).map { Week(days: Array(days[$0..<($0 + 7)])) }
    }

    private static let blank = Day(number: "", label: "", isToday: false, isEmpty: true, entries: [], more: "")
}

/// A month of a year, in UTC.
package struct Month: Sendable, Hashable {
    package let year: Int
    package let number: Int

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let years = 1970...9998

    package init(of instant: Instant) {
        year = min(max(Int(instant.text.prefix(4)) ?? 1970, Self.years.lowerBound), Self.years.upperBound)
        number = Int(instant.text.dropFirst(5).prefix(2)) ?? 1
    }

    /// From a text such as 2026-01; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2, let year = Int(parts[0]),
            let number = Int(parts[1]), Self.years.contains(year), 1...12 ~= number
        else { return nil }
        self.init(year: year, number: number)
    }

    private init(year: Int, number: Int) {
        self.year = min(max(year, Self.years.lowerBound), Self.years.upperBound)
        self.number = number
    }

    package var text: String { "\(year)-\(number < 10 ? "0" : "")\(number)" }
    package var name: String { "\(Self.names[number - 1]) \(year)" }
    package var previous: Month {
        number == 1 ? Month(year: year - 1, number: 12) : Month(year: year, number: number - 1)
    }
    package var next: Month { number == 12 ? Month(year: year + 1, number: 1) : Month(year: year, number: number + 1) }
    package var start: Instant { Instant(text: "\(text)-01T00:00:00Z") ?? .zero }
    /// The first moment after it.
    package var end: Instant { start + .seconds(Int64(days) * 86_400) }

    package var days: Int {
        switch number {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// The weekday of the first day, counted from 0 for Monday. 1970-01-01 was a Thursday.
    package var firstWeekday: Int { Int(start.milliseconds / 86_400_000 + 3) % 7 }

    fileprivate func day(_ number: Int) -> String { "\(text)-\(number < 10 ? "0" : "")\(number)" }
}
