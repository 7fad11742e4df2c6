import FoundationEssentials
import HTTP2Client
public import NIOHTTP1

extension HTTPHeaders {
    /// The wait that an answer asks for.
    ///
    /// - Parameter now: Unix seconds.
    public func retryAfter(now: Int64 = Outbound.now()) -> Duration? {
        first(name: "retry-after").flatMap { RetryAfter.duration($0, now: now) }
    }
}

extension Outbound {
    /// Seconds since 1970 by the system's clock.
    public static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
