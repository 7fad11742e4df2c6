import FoundationEssentials
import Synchronization

/// The offsets of a time zone from UTC, as the tz database of the system has them. Source: RFC 9636.
///
/// Read from `/usr/share/zoneinfo` once for each name; an update of the database takes effect with the next start.
package struct ZoneInfo: Sendable, Hashable {
    /// The IANA name, such as Europe/Vienna.
    package let name: String
    /// The times of the changes, in seconds since 1970, ascending, with the offsets from then on, in seconds east of Greenwich.
    private let changes: [Change]
    private let firstOffset: Int64
    /// The offsets after the last change.
    private let footer: Footer?

    struct Change: Hashable {
        let at: Int64
        let offset: Int64
    }

    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    // MARK: Local times

    /// The time of the clocks at an instant, or at the nearest that RFC 3339 can write.
    func local(at instant: Instant) -> LocalTime {
        let instant = min(max(instant, RFC3339.bounds.lowerBound), RFC3339.bounds.upperBound)
        let seconds = instant.milliseconds.flooredQuotient(1_000)
        return LocalTime(seconds: seconds + offset(at: seconds))
    }

    /// The first instant at which the clocks show a time. If they skip it, the first instant after the gap.
    func instant(of local: LocalTime) -> Instant {
        // No offset is longer than a day and two hours, so the instant is between these.
        let (low, high) = (local.seconds - Self.offsetMax, local.seconds + Self.offsetMax)
        var (from, offset) = (low, offset(at: low))
        for change in changes(after: low, through: high) where local.seconds - offset >= change.at {
            (from, offset) = (change.at, change.offset)
        }
        return Instant(milliseconds: max(from, local.seconds - offset) * 1_000)
    }

    private static let offsetMax: Int64 = 26 * 3_600

    private func offset(at seconds: Int64) -> Int64 {
        let count = index(after: seconds)
        guard count == changes.count, let footer else { return count == 0 ? firstOffset : changes[count - 1].offset }
        return footer.changes(around: seconds).last { $0.at <= seconds }?.offset ?? footer.standard
    }

    private func changes(after low: Int64, through high: Int64) -> [Change] {
        let listed = Array(changes[index(after: low)..<index(after: high)])
        let end = changes.last?.at ?? .min
        return listed + (footer?.changes(around: low) ?? []).filter { $0.at > max(low, end) && $0.at <= high }
    }

    /// The number of changes that are not after a time.
    private func index(after seconds: Int64) -> Int {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].at <= seconds { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Reading

    private static let read = Mutex<[String: ZoneInfo]>([:])
    static let directory = "/usr/share/zoneinfo/"
    private static let nameBytesMax = 64
    private static let fileBytesMax = 64 << 10

    /// UTC, which needs no file.
    static let utc = ZoneInfo(kept: "UTC")
    /// The clocks that are ahead of all others of the world.
    static let earliest = ZoneInfo(kept: "Etc/GMT-14", offset: 14 * 3_600)

    /// A zone that was stored under its name. Where this system does not know it any more, its clocks show UTC.
    init(stored name: String) {
        if let known = try? ZoneInfo(name, field: "") { self = known } else { self.init(kept: name) }
    }

    private init(kept name: String, offset: Int64 = 0) {
        (self.name, changes, firstOffset, footer) = (name, [], offset, nil)
    }

    /// Throws where the system has no such zone.
    package init(_ name: String, field: String) throws(InvalidInput) {
        guard name != "UTC" else {
            self = .utc
            return
        }
        if let known = Self.read.withLock({ $0[name] }) {
            self = known
            return
        }
        guard Self.isName(name), let file = Self.file(of: name), file.count <= Self.fileBytesMax,
            let zone = ZoneInfo(name, file: [UInt8](file))
        else {
            let isThere = FileManager.default.fileExists(atPath: Self.directory + "UTC")
            let known = Self.names[String(name.prefix(64)).caseFolded]
            let meant = known.map { $0 == name ? "" : " (is \($0) meant?)" } ?? ""
            throw InvalidInput(
                field: field,
                isThere
                    ? "is '\(name.prefix(64))'\(meant), it has to be a time zone of the IANA database, such as Europe/Vienna"
                    : "cannot be looked up: this server has no tz database (the package tzdata)")
        }
        Self.read.withLock { $0[name] = zone }
        self = zone
    }

    /// The file of a zone. Some systems have old names in a package of their own: then it is that of the present name.
    static func file(of name: String, _ links: @autoclosure () -> [String: String] = TimeZoneNames.links) -> Data? {
        let files = FileManager.default
        return files.contents(atPath: directory + name)
            ?? links()[name].flatMap { files.contents(atPath: directory + $0) }
    }

    /// Names such as America/Argentina/Buenos_Aires and Etc/GMT+5; without those that count leap seconds.
    private static func isName(_ name: String) -> Bool {
        guard 1...nameBytesMax ~= name.utf8.count, !name.hasPrefix("right/"), !name.hasPrefix("posix/") else {
            return false
        }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            part.first.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xDF } ?? false
                && part.allSatisfy { byte in
                    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF
                        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                        || "_+-".utf8.contains(byte)
                }
        }
    }

    /// nil for anything but a file of version 2 or later without leap seconds.
    init?(_ name: String, file: [UInt8]) {
        var reader = Reader(bytes: file[...])
        guard let first = reader.counts(), reader.skip(first.bytes(ofTime: 4)), let counts = reader.counts(),
            counts.leaps == 0, counts.types > 0, let block = reader.take(counts.bytes(ofTime: 8))
        else { return nil }
        var data = Reader(bytes: block)
        let times = (0..<counts.times).map { _ in data.integer(8) }
        let indexes = (0..<counts.times).map { _ in Int(data.integer(1)) & 0xFF }
        let offsets = (0..<counts.types).map { _ in
            defer { _ = data.skip(2) }
            return data.integer(4)
        }
        guard indexes.allSatisfy(offsets.indices.contains), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }),
            offsets.allSatisfy({ abs($0) < Self.offsetMax })
        else { return nil }
        let text = reader.bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        guard text.count == 3 else { return nil }
        self.name = name
        changes = zip(times, indexes).map { Change(at: $0, offset: offsets[$1]) }
        firstOffset = offsets[0]
        footer = text[1].isEmpty ? nil : Footer(text[1])
        if footer == nil, !text[1].isEmpty { return nil }
    }
}

/// Reads the bytes of a file of a zone, with the greatest first.
private struct Reader {
    var bytes: ArraySlice<UInt8>

    struct Counts {
        let times: Int
        let types: Int
        let leaps: Int
        let others: Int

        /// The size of the block that follows.
        func bytes(ofTime size: Int) -> Int { times * (size + 1) + types * 6 + leaps * (size + 4) + others }
    }

    mutating func counts() -> Counts? {
        guard let head = take(44), head.starts(with: "TZif".utf8), head[head.startIndex + 4] >= UInt8(ascii: "2") else {
            return nil
        }
        var numbers = Reader(bytes: head.dropFirst(20))
        let counts = (0..<6).map { _ in Int(numbers.integer(4)) }
        guard counts.allSatisfy({ 0...0xFFFF ~= $0 }) else { return nil }
        return Counts(times: counts[3], types: counts[4], leaps: counts[2], others: counts[0] + counts[1] + counts[5])
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    mutating func skip(_ count: Int) -> Bool { take(count) != nil }

    /// Zero past the end, which a caller has checked.
    mutating func integer(_ size: Int) -> Int64 {
        let value = (take(size) ?? []).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let unused = UInt64(64 - size * 8)
        return Int64(bitPattern: value << unused) >> Int64(unused)
    }
}

/// The rule for all later years: `CET-1CEST,M3.5.0,M10.5.0/3`. Source: RFC 9636 §3.3.1, POSIX `TZ`.
private struct Footer: Sendable {
    let standard: Int64
    /// The offset of daylight saving time, and the rules of its begin and its end; nil where the zone has none.
    let daylight: (offset: Int64, begin: Day, end: Day)?

    /// A day of each year, with a time by the clocks before the change, in seconds since midnight.
    struct Day: Sendable {
        enum Form: Sendable {
            /// The nth or, for 5, last such weekday of a month; 0 is Sunday.
            case weekday(month: Int64, week: Int64, day: Int64)
            /// Counted from 1, without 29 February.
            case julian(Int64)
            /// Counted from 0.
            case zeroBased(Int64)
        }
        let form: Form
        let time: Int64

        /// Seconds since 1970 by the clocks.
        func seconds(in year: Int64) -> Int64 {
            let newYear = RFC3339.days(year, 1, 1)
            let day: Int64
            switch form {
            case .julian(let number):
                day = newYear + number - 1 + (number > 59 && RFC3339.days(in: 2, of: year) == 29 ? 1 : 0)
            case .zeroBased(let number): day = newYear + number
            case .weekday(let month, let week, let weekday):
                let first = RFC3339.days(year, month, 1)
                // 1970-01-01 was a Thursday.
                let weekdayOfFirst = (first + 4) - (first + 4).flooredQuotient(7) * 7
                let date = first + (weekday - weekdayOfFirst + 7) % 7 + (week - 1) * 7
                day = date >= first + RFC3339.days(in: month, of: year) ? date - 7 : date
            }
            return day * 86_400 + time
        }
    }

    /// The changes of the year of a time and of its neighbours, ascending, each to another offset.
    func changes(around seconds: Int64) -> [ZoneInfo.Change] {
        guard let daylight else { return [] }
        let year = RFC3339.date(seconds.flooredQuotient(86_400)).0
        var changes: [ZoneInfo.Change] = []
        let all = ((year - 2)...(year + 1)).flatMap { year in
            [
                ZoneInfo.Change(at: daylight.begin.seconds(in: year) - standard, offset: daylight.offset),
                ZoneInfo.Change(at: daylight.end.seconds(in: year) - daylight.offset, offset: standard),
            ]
        }
        for change in all.sorted(by: { $0.at < $1.at }) {
            if changes.last?.at == change.at { changes.removeLast() }
            if changes.last?.offset != change.offset { changes.append(change) }
        }
        return changes
    }

    init?(_ text: ArraySlice<UInt8>) {
        var parser = Parser(rest: text)
        guard parser.name(), let standard = parser.time() else { return nil }
        self.standard = -standard
        guard !parser.rest.isEmpty else {
            daylight = nil
            return
        }
        guard parser.name() else { return nil }
        let offset = parser.rest.first == UInt8(ascii: ",") ? self.standard + 3_600 : parser.time().map { -$0 }
        guard let offset, let begin = parser.day(), let end = parser.day(), parser.rest.isEmpty else { return nil }
        daylight = (offset, begin, end)
    }

    private struct Parser {
        var rest: ArraySlice<UInt8>

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        mutating func name() -> Bool {
            let isQuoted = take("<")
            let name = rest.prefix { byte in
                isQuoted
                    ? byte != UInt8(ascii: ">") : UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF
            }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && (!isQuoted || take(">"))
        }

        mutating func number() -> Int64? {
            let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard 1...3 ~= digits.count else { return nil }
            rest = rest.dropFirst(digits.count)
            return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }

        mutating func time() -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard var seconds = number().map({ $0 * 3_600 }) else { return nil }
            for unit in [60, 1] as [Int64] where take(":") {
                guard let part = number() else { return nil }
                seconds += part * unit
            }
            return isNegative ? -seconds : seconds
        }

        mutating func day() -> Day? {
            guard take(",") else { return nil }
            let form: Day.Form
            if take("M") {
                guard let month = number(), take("."), let week = number(), take("."), let day = number(),
                    1...12 ~= month, 1...5 ~= week, 0...6 ~= day
                else { return nil }
                form = .weekday(month: month, week: week, day: day)
            } else if take("J") {
                guard let number = number() else { return nil }
                form = .julian(number)
            } else {
                guard let number = number() else { return nil }
                form = .zeroBased(number)
            }
            guard take("/") else { return Day(form: form, time: 7_200) }
            return time().map { Day(form: form, time: $0) }
        }
    }
}
