public import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import FoundationEssentials
#endif

extension HTTPHeaders {
    /// The wait that an answer asks for.
    ///
    /// - Parameter now: Unix seconds.
    public func retryAfter(now: Int64 = Outbound.now()) -> Duration? {
        first(name: "retry-after").flatMap { RetryAfter.duration($0, now: now) }
    }
}

/// The header with which a server asks the client to wait. Source: RFC 9110 §10.2.3: seconds, or a date.
public enum RetryAfter {
    /// The longest wait, in seconds.
    public static let longest: Int64 = 86_400

    /// - Parameters:
    ///   - text: the header's value.
    ///   - now: Unix seconds, to count from when it is a date.
    /// - Returns: nil when it is neither; zero for a date that is past.
    public static func duration(_ text: some StringProtocol, now: Int64) -> Duration? {
        let words = text.split(separator: " ").map { String($0) }
        if words.count == 1, words[0].utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            return .seconds(min(Int64(words[0]) ?? longest, longest))
        }
        guard let date = unixSeconds(words) else { return nil }
        return .seconds(min(max(0, date - now), longest))
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. Source: RFC 9110 §5.6.7, IMF-fixdate; the two obsolete forms are not read.
    private static func unixSeconds(_ words: [String]) -> Int64? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), 1...31 ~= day,
            let month = months.firstIndex(of: words[2]), let year = Int64(words[3]), 1970...9999 ~= year
        else { return nil }
        let time = words[4].split(separator: ":").compactMap { Int64($0) }
        guard time.count == 3, 0...23 ~= time[0], 0...59 ~= time[1], 0...60 ~= time[2] else { return nil }
        return days(year, Int64(month) + 1, day) * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]
    }

    /// Days since 1970, with years that begin in March, so that the leap day is their last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}

extension Outbound {
    /// Seconds since 1970 by the system's clock.
    public static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
