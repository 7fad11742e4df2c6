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
