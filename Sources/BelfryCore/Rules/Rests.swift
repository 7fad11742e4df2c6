/// How much longer than its page a pending device waits: whole minutes, within the byte of its answer.
///
/// A page has one due time, that of the first of its devices; what one device is asked to wait holds no other back.
package enum Rests {
    /// One for each number of minutes, from 1.
    package static let codes: ClosedRange<UInt8> = 128...255
    package static let longest = minute * codes.count

    private static let minute = Duration.seconds(60)

    package static func code(minutes: Int) -> UInt8 { codes.lowerBound - 1 + UInt8(minutes) }

    /// Whole minutes that end no earlier; nil when it has come.
    package static func minutes(from start: Instant, until end: Instant) -> Int? {
        guard end > start else { return nil }
        let milliseconds = (end - start).milliseconds
        return min(Int((milliseconds + minute.milliseconds - 1) / minute.milliseconds), codes.count)
    }

    /// Who of a page that was due at `dueAt` rests at `now`, and until when.
    package static func inCodes(_ codes: UnsafeRawBufferPointer, dueAt: Instant, now: Instant) -> [Int: Instant] {
        var minutes: [Int: Int] = [:]
        for (place, code) in codes.enumerated() where Self.codes.contains(code) {
            minutes[place] = Int(code - Self.codes.lowerBound) + 1
        }
        return ends(of: minutes, dueAt: dueAt, now: now)
    }

    package static func ends(of minutes: [Int: Int], dueAt: Instant, now: Instant) -> [Int: Instant] {
        minutes.mapValues { dueAt + minute * $0 }.filter { $0.value > now }
    }

    /// When a page is due whose devices are due at these times, and how many minutes longer some of them wait.
    ///
    /// Devices that are due within a minute of the first go together. A page waits for one that would rest for longer than
    /// its byte can say.
    package static func plan(_ dues: [Int: Instant]) -> (dueAt: Instant, minutes: [Int: Int])? {
        guard let first = dues.values.min(), let last = dues.values.max() else { return nil }
        let together = dues.values.filter { $0 <= first + minute }.max() ?? first
        let dueAt = max(together, last + (.zero - longest))
        return (dueAt, dues.compactMapValues { minutes(from: dueAt, until: $0) })
    }
}

extension Answer {
    /// From a byte of a page's row.
    package init?(byte: UInt8) {
        if Rests.codes.contains(byte) { self = .pending } else { self.init(code: byte) }
    }
}

extension [Answer] {
    /// From the row of a page.
    package init(codes: UnsafeRawBufferPointer, count: Int) throws {
        guard codes.count == count else {
            throw StoreError.unavailable("a page has \(codes.count) answers for \(count) devices")
        }
        self = try codes.map { code in
            guard let answer = Answer(byte: code) else { throw StoreError.unavailable("answer \(code) has no meaning") }
            return answer
        }
    }
}
