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
