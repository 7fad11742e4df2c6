import FoundationEssentials

extension Instant {
    /// ISO 8601 in UTC with milliseconds. Times outside the years 1 to 9999 are moved to the nearest.
    ///
    /// Days before October 1582 are those of the Julian calendar.
    package var text: String {
        let bounded = min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999)
        // The style truncates to milliseconds; half a millisecond is added so that the rounding of a Double does not
        // lose a whole one.
        return Date(timeIntervalSince1970: (Double(bounded) + 0.5) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Reads ISO 8601 with a time zone, with or without a fraction; nil for anything else.
    package init?(text: String) {
        let styles = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
        for style in styles {
            if let date = try? style.parse(text) {
                // A year of many digits does not fit into 64 bits of milliseconds.
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
