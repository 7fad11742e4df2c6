public import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPHeaders {
    /// The wait that an answer asks for, in whole seconds from now. Source: RFC 9110 §10.2.3, seconds or a date.
    ///
    /// - Parameter now: Unix seconds.
    public func retryAfter(now: Int64 = Outbound.now()) -> Int? {
        guard let text = first(name: "retry-after") else { return nil }
        if let seconds = Int(text) { return seconds >= 0 ? seconds : nil }
        return Outbound.unixSeconds(httpDate: text).map { Int(Swift.max($0 - now, 0)) }
    }
}

extension Outbound {
    /// Seconds since 1970 by the system's clock.
    public static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`. Source: RFC 9110 §5.6.7.
    static func unixSeconds(httpDate text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), 1...31 ~= day,
            let month = months.firstIndex(where: { $0 == parts[2] }), let year = Int64(parts[3]), 1_970...9_999 ~= year
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard clock.count == 3, 0...23 ~= clock[0], 0...59 ~= clock[1], 0...60 ~= clock[2] else { return nil }
        return days(year: year, month: Int64(month) + 1, day: day) * 86_400 + clock[0] * 3_600 + clock[1] * 60
            + clock[2]
    }

    /// Days since 1970 of a day of the Gregorian calendar, counted in years that begin in March.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return 365 * marchYear + leapDays + (153 * marchMonth + 2) / 5 + day - 1 - 719_468
    }

    /// `2026-01-01T00:00:00Z`. Source: RFC 3339 §5.6.
    ///
    /// - Parameter seconds: since 1970.
    public static func isoTime(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
