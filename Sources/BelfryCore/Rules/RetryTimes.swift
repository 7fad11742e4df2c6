/// How much longer than its batch a pending device waits: minutes, within the byte of its answer.
///
/// A batch has one due time, that of the first of its devices; what one device is asked to wait holds no other back. A
/// wait ends at a full minute of the clock, and its minutes count from the one in which the last settlement wanted the
/// batch tried again: so neither a lease that lapses nor another settlement moves its end.
package enum RetryTimes {
    /// One for each number of minutes, from 1.
    package static let codes: ClosedRange<UInt8> = 128...255
    package static let longest = minute * codes.count

    private static let minute = Duration.seconds(60)

    package static func code(minutes: Int) -> UInt8 { codes.lowerBound - 1 + UInt8(minutes) }

    /// Minutes that end no earlier; nil when it has come.
    package static func minutes(from retryAt: Instant, until end: Instant) -> Int? {
        guard end > retryAt else { return nil }
        let rest = end.endOfMinute - retryAt.startOfMinute
        return min(Int(rest.milliseconds / minute.milliseconds), codes.count)
    }

    /// Who of a batch that was to be tried again at `retryAt` waits at `now`, and until when.
    package static func inCodes(_ codes: UnsafeRawBufferPointer, retryAt: Instant, now: Instant) -> [Int: Instant] {
        var minutes: [Int: Int] = [:]
        for (place, code) in codes.enumerated() where Self.codes.contains(code) {
            minutes[place] = Int(code - Self.codes.lowerBound) + 1
        }
        return ends(of: minutes, from: retryAt).filter { $0.value > now }
    }

    package static func ends(of minutes: [Int: Int], from retryAt: Instant) -> [Int: Instant] {
        minutes.mapValues { retryAt.startOfMinute + minute * $0 }
    }

    /// When a batch is due at the earliest one of whose devices waits until `end`, as far as its byte can say.
    package static func earliestDue(before end: Instant) -> Instant { end.endOfMinute + (.zero - longest) }

    /// When a batch is due whose devices are due at these times, and how many minutes longer some of them wait.
    ///
    /// Devices that are due within a minute of the first go together. A batch waits for one that would wait for longer
    /// than its byte can say.
    package static func plan(_ dues: [Int: Instant]) -> (dueAt: Instant, minutes: [Int: Int])? {
        guard let first = dues.values.min(), let last = dues.values.max() else { return nil }
        let together = dues.values.filter { $0 <= first + minute }.max() ?? first
        let dueAt = max(together, earliestDue(before: last))
        return (dueAt, dues.compactMapValues { minutes(from: dueAt, until: $0) })
    }
}

extension Instant {
    fileprivate var startOfMinute: Instant { Instant(milliseconds: milliseconds - milliseconds % 60_000) }

    /// Itself at a full minute.
    fileprivate var endOfMinute: Instant { self == startOfMinute ? self : startOfMinute + .seconds(60) }
}

extension Answer {
    /// From a byte of a batch's row.
    package init?(byte: UInt8) {
        if RetryTimes.codes.contains(byte) { self = .pending } else { self.init(code: byte) }
    }
}

extension [Answer] {
    /// From the row of a batch.
    package init(codes: UnsafeRawBufferPointer, count: Int) throws {
        guard codes.count == count else {
            throw StoreError.unavailable("a batch has \(codes.count) answers for \(count) devices")
        }
        self = try codes.map { code in
            guard let answer = Answer(byte: code) else { throw StoreError.unavailable("answer \(code) has no meaning") }
            return answer
        }
    }
}
