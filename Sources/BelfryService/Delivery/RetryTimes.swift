/// The minutes for which a pending device waits beyond its batch's due time, stored in its answer byte.
///
/// A batch has one due time, that of the first of its devices, so one device's wait delays no other. Waits end at full
/// minutes, counted from the minute of `retryAt`, so a lapsed lease or another settlement does not move them.
package enum RetryTimes {
    /// One code for each number of minutes, from 1.
    package static let codes: ClosedRange<UInt8> = 128...255
    package static let longest = minute * codes.count

    private static let minute = Duration.seconds(60)

    package static func code(minutes: Int) -> UInt8 { codes.lowerBound - 1 + UInt8(minutes) }

    /// The minutes that end no earlier; nil when the time has come.
    package static func minutes(from retryAt: Instant, until end: Instant) -> Int? {
        guard end > retryAt else { return nil }
        let rest = end.endOfMinute - retryAt.startOfMinute
        return min(Int(rest.milliseconds / minute.milliseconds), codes.count)
    }

    /// The devices still waiting at `now`, and until when.
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

    /// The earliest due time from which a wait until `end` fits in one byte.
    package static func earliestDue(before end: Instant) -> Instant { end.endOfMinute + (.zero - longest) }

    /// The due time of a batch, and the extra minutes of devices due later.
    ///
    /// Devices that are due within a minute of the first go together. If a wait does not fit in a byte, the batch is
    /// due later.
    package static func plan(_ dues: [Int: Instant]) -> (dueAt: Instant, minutes: [Int: Int])? {
        guard let first = dues.values.min(), let last = dues.values.max() else { return nil }
        let together = dues.values.filter { $0 <= first + minute }.max() ?? first
        let dueAt = max(together, earliestDue(before: last))
        return (dueAt, dues.compactMapValues { minutes(from: dueAt, until: $0) })
    }
}

extension Instant {
    fileprivate var startOfMinute: Instant { Instant(milliseconds: milliseconds - milliseconds % 60_000) }

    /// The instant itself if it is a full minute.
    fileprivate var endOfMinute: Instant { self == startOfMinute ? self : startOfMinute + .seconds(60) }
}

extension Answer {
    /// Reads a byte of a batch's row.
    package init?(byte: UInt8) {
        if RetryTimes.codes.contains(byte) { self = .pending } else { self.init(code: byte) }
    }
}

extension [Answer] {
    /// Reads the row of a batch.
    package init(codes: UnsafeRawBufferPointer, count: Int) throws {
        guard codes.count == count else {
            throw StoreError.unavailable("a batch has \(codes.count) answers for \(count) devices")
        }
        // In most batches all have one answer.
        if let code = codes.first, let answer = Answer(byte: code), codes.allSatisfy({ $0 == code }) {
            self = Array(repeating: answer, count: count)
            return
        }
        self = try codes.map { code in
            guard let answer = Answer(byte: code) else { throw StoreError.unavailable("answer \(code) has no meaning") }
            return answer
        }
    }
}
