import Glibc

/// The header with which a server asks the client to wait. Source: RFC 9110 §10.2.3: seconds, or a date in any of three forms.
public enum RetryAfter {
    /// The longest wait that is believed, in seconds: half of the day for which a push without an expiry is tried.
    public static let longest: Int64 = 43_200
    /// A longer text is neither.
    private static let bytesMax = 64

    /// - Parameters:
    ///   - text: the header's value.
    ///   - now: Unix seconds, to count from when it is a date.
    /// - Returns: nil when it is neither; zero for a date that is past.
    public static func duration(_ text: some StringProtocol, now: Int64) -> Duration? {
        guard text.utf8.count <= bytesMax else { return nil }
        let words = text.split { $0 == " " || $0 == "\t" }.map { String($0) }
        if words.count == 1, words[0].utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            return .seconds(min(Int64(words[0]) ?? longest, longest))
        }
        guard let date = unixSeconds(words, now: now) else { return nil }
        return .seconds(min(max(0, date - now), longest))
    }

    /// One of the three forms of a date. Source: RFC 9110 §5.6.7:
    ///
    /// - `Sun, 06 Nov 1994 08:49:37 GMT`, the form that is written;
    /// - `Sunday, 06-Nov-94 08:49:37 GMT`, that of RFC 850;
    /// - `Sun Nov  6 08:49:37 1994`, that of C's `asctime`.
    ///
    /// The name of the day is not compared with the date.
    private static func unixSeconds(_ words: [String], now: Int64) -> Int64? {
        switch words.count {
        case 6 where words[5] == "GMT" && isDay(words[0], comma: true):
            return unixSeconds(year: words[3], month: words[2], day: words[1], time: words[4])
        case 4 where words[3] == "GMT" && isDay(words[0], comma: true):
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map { String($0) }
            guard date.count == 3, date[2].utf8.count == 2, let year = digits(date[2]) else { return nil }
            // Two digits are of the year at most 50 years ahead, and less than 50 back.
            let thisYear = 1970 + now / 31_556_952
            var near = thisYear / 100 * 100 + year
            if near > thisYear + 50 { near -= 100 } else if near <= thisYear - 50 { near += 100 }
            return unixSeconds(year: "\(near)", month: date[1], day: date[0], time: words[2])
        case 5 where isDay(words[0], comma: false):
            return unixSeconds(year: words[4], month: words[1], day: words[2], time: words[3])
        default: return nil
        }
    }

    private static func isDay(_ word: String, comma: Bool) -> Bool {
        let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        guard word.hasSuffix(",") == comma else { return false }
        let name = comma ? String(word.dropLast()) : word
        return days.contains { $0 == name || $0.prefix(3) == name }
    }

    private static func unixSeconds(year: String, month: String, day: String, time: String) -> Int64? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let month = months.firstIndex(of: month), let year = digits(year), 1900...9999 ~= year,
            let day = digits(day), 1...31 ~= day
        else { return nil }
        let time = time.split(separator: ":", omittingEmptySubsequences: false).map { digits(String($0)) ?? -1 }
        guard time.count == 3, 0...23 ~= time[0], 0...59 ~= time[1], 0...60 ~= time[2] else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (Int32(year - 1_900), Int32(month), Int32(day))
        (date.tm_hour, date.tm_min, date.tm_sec) = (Int32(time[0]), Int32(time[1]), Int32(time[2]))
        return Int64(timegm(&date))
    }

    private static func digits(_ text: String) -> Int64? {
        1...4 ~= text.utf8.count && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int64(text) : nil
    }
}
