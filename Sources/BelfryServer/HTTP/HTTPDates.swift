import Foundation
import Synchronization

/// The `Date` of a response, formatted once a second. Source: RFC 9110 §5.6.7.
final class HTTPDates: Sendable {
    private let last = Mutex((second: 0, text: ""))

    var now: String {
        let second = time(nil)
        return last.withLock { last in
            if last.second != second { last = (second, Self.text(second)) }
            return last.text
        }
    }

    /// The names are English as long as no code sets a locale, and none does.
    static func text(_ second: Int) -> String {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
