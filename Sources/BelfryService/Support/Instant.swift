/// Reads and writes times as RFC 3339 defines them, in the Gregorian calendar throughout. Every API reads times with this.
///
/// `2026-01-31T08:30:00Z`: `T` and `Z` in either case, a fraction of any length (cut to milliseconds), an offset up to ±23:59, and second
/// 60 where UTC ends a day: a leap second is the next second. A text that names no moment is refused, and never adjusted. Source: RFC
/// 3339 §5.6, §5.7.
struct RFC3339 {
    private var rest: Substring.UTF8View

    /// The reason why a text is no time.
    enum Fault: Error {
        case form, month, day, time, offsetForm, offset, trailing, range
    }

    /// The years 1 to 9999.
    static let bounds = Instant(milliseconds: -62_135_596_800_000)...Instant(milliseconds: 253_402_300_799_999)

    static func read(_ text: String) throws(Fault) -> Instant {
        var reader = RFC3339(rest: text[...].utf8)
        let days = try reader.date()
        guard reader.take("T") || reader.take("t") else { throw .form }
        let (seconds, milliseconds) = try reader.time()
        let offset = try reader.offset()
        guard reader.rest.isEmpty else { throw .trailing }
        let utc = seconds - offset
        // Only the last minute of a day may have a 61st second.
        guard !reader.isLeapSecond || utc % 86_400 == 0 else { throw .time }
        let instant = Instant(milliseconds: (days * 86_400 + utc) * 1_000 + milliseconds)
        guard bounds.contains(instant) else { throw .range }
        return instant
    }

    private var isLeapSecond = false

    private init(rest: Substring.UTF8View) { self.rest = rest }

    private mutating func date() throws(Fault) -> Int64 {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else {
            throw .form
        }
        guard 1...12 ~= month else { throw .month }
        guard 1...Self.days(in: month, of: year) ~= day else { throw .day }
        guard year > 0 else { throw .range }
        return Self.days(year, month, day)
    }

    /// The seconds of the day, and milliseconds.
    private mutating func time() throws(Fault) -> (Int64, Int64) {
        guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2) else {
            throw .form
        }
        guard hour < 24, minute < 60, second <= 60 else { throw .time }
        var milliseconds: Int64 = 0
        if take(".") {
            let fraction = rest.prefix { 0x30...0x39 ~= $0 }
            guard !fraction.isEmpty else { throw .form }
            for (digit, weight) in zip(fraction, [100, 10, 1] as [Int64]) {
                milliseconds += Int64(digit - 0x30) * weight
            }
            rest = rest[fraction.endIndex...]
        }
        isLeapSecond = second == 60
        return (hour * 3_600 + minute * 60 + second, milliseconds)
    }

    /// Seconds east of Greenwich.
    private mutating func offset() throws(Fault) -> Int64 {
        if take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { throw .form }
        guard let hours = number(2), take(":"), let minutes = number(2) else { throw .offsetForm }
        guard hours < 24, minutes < 60 else { throw .offset }
        return sign * (hours * 3_600 + minutes * 60)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func number(_ digits: Int) -> Int64? {
        let taken = rest.prefix(digits)
        guard taken.count == digits else { return nil }
        var number: Int64 = 0
        for digit in taken {
            guard 0x30...0x39 ~= digit else { return nil }
            number = number * 10 + Int64(digit - 0x30)
        }
        rest = rest.dropFirst(digits)
        return number
    }
}

// MARK: The calendar

extension RFC3339 {
    static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
    static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Year, month and day. Source: there, `civil_from_days`.
    static func date(_ days: Int64) -> (Int64, Int64, Int64) {
        let days = days + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

extension Instant {
    /// In UTC with milliseconds. Times outside the years 1 to 9999 are moved to the nearest.
    package var text: String {
        let bounded = min(max(self, RFC3339.bounds.lowerBound), RFC3339.bounds.upperBound).milliseconds
        let (days, time) = (
            bounded.flooredQuotient(86_400_000), bounded - bounded.flooredQuotient(86_400_000) * 86_400_000
        )
        let (year, month, day) = RFC3339.date(days)
        return String(unsafeUninitializedCapacity: 24) { bytes in
            var count = 0
            func put(_ number: Int64, _ digits: Int, _ end: Unicode.Scalar) {
                var (number, place) = (number, count + digits)
                bytes[place] = UInt8(ascii: end)
                count = place + 1
                for _ in 0..<digits {
                    place -= 1
                    bytes[place] = 0x30 + UInt8(number % 10)
                    number /= 10
                }
            }
            put(year, 4, "-")
            put(month, 2, "-")
            put(day, 2, "T")
            put(time / 3_600_000, 2, ":")
            put(time / 60_000 % 60, 2, ":")
            put(time / 1_000 % 60, 2, ".")
            put(time % 1_000, 3, "Z")
            return count
        }
    }

    /// nil for anything but a time of RFC 3339; see there.
    package init?(text: String) {
        guard let instant = try? RFC3339.read(text) else { return nil }
        self = instant
    }

    /// Reads a time of RFC 3339, which says the zone.
    package init(_ text: String, field: String) throws(InvalidInput) {
        do throws(RFC3339.Fault) { self = try RFC3339.read(text) } catch {
            let inUTC = (text.utf8.count > 32 ? [] : ["Z", ":00Z"]).map { text + $0 }.first { Instant(text: $0) != nil }
            throw InvalidInput(
                field: field,
                inUTC.map { "has no time zone: write \($0) for UTC, or an offset such as +01:00 in place of Z" }
                    ?? error.words(text, such: "2026-01-31T08:30:00Z"))
        }
    }

    /// Reads a time as forms of browsers send it, in UTC unless it says a zone: `2026-01-31T08:30`, with or without seconds and a
    /// fraction; a blank may stand for the T.
    package init(local text: String, field: String) throws(InvalidInput) {
        try self.init(local: text, in: .utc, field: field)
    }

    /// - Parameter zone: whose clocks show the time, unless it says a zone.
    init(local text: String, in zone: ZoneInfo, field: String) throws(InvalidInput) {
        var text = text
        if let blank = text.utf8.firstIndex(of: UInt8(ascii: " ")) { text.replaceSubrange(blank...blank, with: "T") }
        var fault = RFC3339.Fault.form
        for end in ["", "Z", ":00Z"] {
            do throws(RFC3339.Fault) {
                let read = try RFC3339.read(text + end)
                let seconds = read.milliseconds.flooredQuotient(1_000)
                let rest = Duration.milliseconds(read.milliseconds - seconds * 1_000)
                let instant = end.isEmpty ? read : zone.instant(of: LocalTime(seconds: seconds)) + rest
                guard instant.isWithinReach else { throw .range }
                self = instant
                return
            } catch { fault = fault == .form ? error : fault }
        }
        throw InvalidInput(field: field, fault.words(text, such: "2026-01-31T08:30"))
    }

    /// Reads a day such as 2026-01-31: its first moment in UTC.
    package init(day text: String, field: String) throws(InvalidInput) {
        guard text.utf8.count == 10, let instant = Instant(text: text + "T00:00:00Z") else {
            throw InvalidInput(field: field, "is '\(text.prefix(64))', it has to be a day such as 2026-01-31")
        }
        self = instant
    }

    /// Whether RFC 3339 can write it.
    package var isWithinReach: Bool { RFC3339.bounds.contains(self) }

    /// Milliseconds since 1970, as callers write a time in numbers; throws beyond the year 9999.
    package init(_ milliseconds: Int64, field: String) throws(InvalidInput) {
        self.init(milliseconds: milliseconds)
        guard isWithinReach else {
            throw InvalidInput(field: field, "is \(milliseconds) ms, which is beyond the years 1 to 9999")
        }
    }
}

extension RFC3339.Fault {
    fileprivate func words(_ text: String, such example: String) -> String {
        switch self {
        case .form: "has to be a time such as \(example)"
        case .month: "is '\(text.prefix(64))': no year has such a month"
        case .day: "is '\(text.prefix(64))': its month has no such day"
        case .time: "is '\(text.prefix(64))': no day has such an hour, minute or second"
        case .offsetForm: "is '\(text.prefix(64))': an offset has hours, a colon and minutes, such as +01:00"
        case .offset: "is '\(text.prefix(64))': an offset is at most 23:59, such as +01:00"
        case .trailing: "is '\(text.prefix(64))': nothing may stand behind the time zone"
        case .range: "is '\(text.prefix(64))', which is beyond the years 1 to 9999"
        }
    }
}

extension Int64 {
    func flooredQuotient(_ divisor: Int64) -> Int64 { self >= 0 ? self / divisor : (self + 1) / divisor - 1 }
}

/// A moment of the wall clock, in milliseconds since 1970-01-01 UTC.
package struct Instant: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static let zero = Instant(milliseconds: 0)
    package static let distantFuture = Instant(milliseconds: .max)
    package static let distantPast = Instant(milliseconds: .min)

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// Adds a duration in whole milliseconds. Saturates instead of trapping.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflow) = instant.milliseconds.addingReportingOverflow(duration.milliseconds)
        guard overflow else { return Instant(milliseconds: sum) }
        return duration < .zero ? .distantPast : .distantFuture
    }

    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds) - .milliseconds(right.milliseconds)
    }
}

extension Instant: Codable {
    package init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero, saturating at 64 bits.
    package var milliseconds: Int64 {
        if self >= .milliseconds(Int64.max) { return .max }
        if self <= .milliseconds(Int64.min) { return .min }
        let (seconds, attoseconds) = components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}

/// The time of day, and waiting for it. Simulations set it by hand.
package protocol WallClock: Sendable {
    var now: Instant { get }
    /// Throws `CancellationError` when the task is cancelled first.
    func sleep(for duration: Duration) async throws
}

extension WallClock {
    /// Returns the result of `work`, or nil once `limit` has passed. The work then goes on by itself, and its result is dropped.
    package func result<Value: Sendable>(
        within limit: Duration, of work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let (results, first) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
        Task { first.yield(await work()) }
        let alarm = Task { if (try? await sleep(for: limit)) != nil { first.yield(nil) } }
        defer { alarm.cancel() }
        for await result in results { return result }
        return nil
    }
}
