/// A day and a time of day as clocks show them, in no time zone.
package struct LocalTime: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00 by the clocks, of which each day has 86,400.
    let seconds: Int64

    init(seconds: Int64) { self.seconds = seconds }

    init(day: Int64, second: Int64) { seconds = day * 86_400 + second }

    package static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }

    /// Days since 1970-01-01.
    var day: Int64 { seconds.flooredQuotient(86_400) }
    /// Seconds since midnight.
    var second: Int64 { seconds - day * 86_400 }

    /// Reads `2026-12-07T09:00`, with seconds or without; a blank may stand for the T. Throws for a time with a zone.
    package init(_ text: String, field: String) throws(InvalidInput) {
        guard text.utf8.count == 16 || text.utf8.count == 19 else {
            throw InvalidInput(
                field: field,
                Instant(text: text) == nil
                    ? "has to be a local time such as 2026-12-07T09:00"
                    : "has to be a local time such as 2026-12-07T09:00: its zone stands in time_zone")
        }
        seconds = try Instant(local: text, field: field).milliseconds / 1_000
        guard Self.years ~= RFC3339.date(day).0 else {
            throw InvalidInput(
                field: field,
                "is in the year \(RFC3339.date(day).0), it has to be from \(Self.years.lowerBound) to \(Self.years.upperBound)"
            )
        }
    }

    /// The years in which recurrences start and end.
    static let years: ClosedRange<Int64> = 1970...9000

    /// `2026-12-07T09:00`, with seconds where there are any.
    package var text: String {
        let text = Instant(milliseconds: seconds * 1_000).text
        return String(text.prefix(seconds % 60 == 0 ? 16 : 19))
    }

    /// `2026-12-07 09:00`, as pages have it.
    var words: String { "\(dayText) \(timeText)" }

    /// `2026-12-07`.
    var dayText: String { String(text.prefix(10)) }
    /// `09:00`, with seconds where there are any.
    var timeText: String { String(text.dropFirst(11)) }

    /// The weekday of a day, counted from 0 for Monday. 1970-01-01 was a Thursday.
    static func weekday(of day: Int64) -> Int { Int(day + 3 - (day + 3).flooredQuotient(7) * 7) }
}

/// Checks the times of a push: its sending and its expiry must not have passed.
package enum PushTimes {
    /// The furthest that a send time may lie back: clocks differ, and requests take time. Such a push is sent at once.
    package static let lateMax = Duration.seconds(300)

    /// Throws where the push was to be sent longer ago than `lateMax`.
    ///
    /// - Parameter advice: the effect of leaving the time out.
    package static func check(
        sendAt: Instant?, field: String = "send_at", advice: String = "to send now", now: Instant
    ) throws(InvalidInput) {
        guard let sendAt, sendAt < now + (.zero - lateMax) else { return }
        throw InvalidInput(
            field: field, "is \(sendAt.text), which is over (it is \(now.text)): leave it out \(advice)")
    }

    /// Throws where the push would have expired before it is sent.
    ///
    /// - Parameter sendAt: the time at which it is sent; nil for now.
    package static func check(
        expiresAt: Instant?, sendAt: Instant?, field: String = "expires_at", now: Instant
    ) throws(InvalidInput) {
        let sentAt = max(sendAt ?? now, now)
        guard let expiresAt, expiresAt <= sentAt else { return }
        let words =
            sentAt == now
            ? "is over (it is \(now.text))" : "is not after the time at which the push is sent, \(sentAt.text)"
        throw InvalidInput(field: field, "is \(expiresAt.text), which \(words): no device would get the push")
    }
}
