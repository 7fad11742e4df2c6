import FoundationEssentials

extension Instant {
    /// As people read it: ISO 8601 in UTC with milliseconds. Moments outside the years 1 to 9999 become the nearest.
    ///
    /// Days before October 1582 are those of the Julian calendar.
    package var text: String {
        let bounded = min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999)
        // The style cuts to milliseconds; half a one keeps what a Double cannot say from costing a whole one.
        return Date(timeIntervalSince1970: (Double(bounded) + 0.5) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Reads ISO 8601 with a time zone, with or without a fraction; nil for anything else.
    package init?(text: String) {
        let styles = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
        for style in styles {
            if let date = try? style.parse(text) {
                // A year of many digits is a moment that 64 bits of milliseconds cannot hold.
                guard let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1_000).rounded()) else {
                    return nil
                }
                self.init(milliseconds: milliseconds)
                return
            }
        }
        return nil
    }
}
