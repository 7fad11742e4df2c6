/// Something that happened to a push, with the counters that its receipt had then.
package struct PushEvent: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        /// The first event that a reader gets for a push.
        case accepted
        /// Devices were found or got their answers.
        case progress
        /// The push waits until an operator resumes a platform.
        case parked
        case resumed
        /// Every device has its answer; the last event of a push.
        case settled
    }

    package let kind: Kind
    package let receipt: Receipt

    package init(_ kind: Kind, _ receipt: Receipt) {
        self.kind = kind
        self.receipt = receipt
    }

    /// The events between two receipts; `old` is nil at the first read. None follow `settled`.
    package static func events(from old: Receipt?, to new: Receipt) -> [PushEvent] {
        guard let old else {
            let isNew = new.settledAt != nil || !new.parked.isEmpty
            return [PushEvent(.accepted, new)]
                + (isNew ? [PushEvent(new.settledAt != nil ? .settled : .parked, new)] : [])
        }
        if old.settledAt != nil { return [] }
        if new.settledAt != nil { return [PushEvent(.settled, new)] }
        switch (old.parked.isEmpty, new.parked.isEmpty) {
        case (true, false): return [PushEvent(.parked, new)]
        case (false, true): return [PushEvent(.resumed, new)]
        default:
            return old.counts == new.counts && old.isFannedOut == new.isFannedOut ? [] : [PushEvent(.progress, new)]
        }
    }
}

/// Reads the time of an event as apps write it: a string of seconds (Android), seconds with a fraction (old iOS) or
/// milliseconds (iOS). Source: the PCF SDKs, `docs/compatibility/pcf.md`.
package enum EventTime {
    /// At this size a number is milliseconds: as seconds it would be the year 5138.
    package static let millisecondsMin = 1e11
    /// The end of the year 9999; a larger number is not a time.
    static let millisecondsMax = 253_402_300_800_000.0

    /// nil unless it is a time after 1970.
    package static func parse(_ text: String) -> Instant? {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        guard isPlain, let number = Double(text), number > 0 else { return nil }
        let milliseconds = number >= millisecondsMin ? number : number * 1_000
        guard milliseconds <= millisecondsMax else { return nil }
        return Instant(milliseconds: Int64(milliseconds.rounded()))
    }
}

extension AnalyticsEvent {
    /// The furthest that a device's clock may be ahead of ours.
    package static let earlyMax: Duration = .seconds(86_400)

    /// The time under which it is counted, by our clock at most; nil when it is too old or too far in the future to
    /// count.
    package func countedAt(now: Instant, lateMax: Duration) -> Instant? {
        guard time >= now + (.zero - lateMax), time <= now + Self.earlyMax else { return nil }
        return min(time, now)
    }

    /// From the acceptance of a heartbeat's push to its arrival. Android reports whole seconds, so a slightly negative
    /// time counts as zero.
    package func latency(since acceptedAt: Instant) -> Duration? {
        let latency = time - acceptedAt
        return latency <= .seconds(-1) ? nil : max(latency, .zero)
    }
}

/// The last events of an application, numbered from one. Readers hold a position in it, not a queue: a slow reader
/// gets the number of events that it missed.
package struct EventRing<Event: Sendable>: Sendable {
    private var events: [Event] = []
    /// The index of the oldest event in `events`, once the ring is full.
    private var head = 0
    /// The number of the newest event; 0 before the first.
    package private(set) var last: Int64 = 0
    private let countMax: Int

    package init(countMax: Int) {
        precondition(countMax > 0, "a ring holds something")
        self.countMax = countMax
    }

    package mutating func append(_ event: Event) {
        last += 1
        if events.count < countMax {
            events.append(event)
        } else {
            events[head] = event
            head = (head + 1) % countMax
        }
    }

    /// The result of reading from a position.
    package struct Reading: Sendable {
        /// The number of lost events between the reader's position and the first of `events`.
        package let lost: Int64
        package let events: [(number: Int64, event: Event)]
    }

    /// The events after a position. The position comes from outside and may be any number: one before the first event
    /// reads all there is, one past the last reads nothing.
    package func read(after place: Int64, atMost limit: Int) -> Reading {
        guard place < last else { return Reading(lost: 0, events: []) }
        let oldest = last - Int64(events.count) + 1
        let place = max(place, 0)
        let first = max(place + 1, oldest)
        let lost = max(0, oldest - 1 - place)
        let end = min(last, first + Int64(limit) - 1)
        let found = (first...end).map { number in
            (number, events[(head + Int(number - oldest)) % events.count])
        }
        return Reading(lost: lost, events: found)
    }
}
