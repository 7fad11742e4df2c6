/// A moment of the wall clock, in milliseconds since 1970-01-01 UTC.
package struct Instant: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static let zero = Instant(milliseconds: 0)
    package static let distantFuture = Instant(milliseconds: .max)

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// Adds a duration, rounded down to the millisecond. Ends at `distantFuture` instead of trapping.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflow) = instant.milliseconds.addingReportingOverflow(duration.milliseconds)
        return overflow ? .distantFuture : Instant(milliseconds: sum)
    }

    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
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
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
