import Synchronization

/// The access tokens that a provider has issued: opaque, each for one subject and a limited time.
package final class AccessTokens: Sendable {
    package enum Finding: Equatable {
        case good(subject: String)
        case expired
        case unknown
    }

    private struct Grant {
        var subject: String
        /// Time since 1970.
        var expires: Duration
    }

    private struct Held {
        var grants: [String: Grant] = [:]
        var issued = 0
        var random = SystemRandomNumberGenerator()
    }

    private let prefix: String
    private let held = Mutex(Held())
    /// Bounds the memory for a sender that fetches a token for each request.
    private static let grantsMax = 4096

    init(prefix: String) {
        self.prefix = prefix
    }

    /// How many were issued: a sender should share one, not fetch one for each message.
    package var issued: Int { held.withLock { $0.issued } }

    /// Invalidates every issued token, as a revocation does.
    package func expireAll() {
        held.withLock { held in
            for token in held.grants.keys { held.grants[token]?.expires = .zero }
        }
    }

    func issue(to subject: String, for life: Duration, at now: Duration) -> String {
        held.withLock { held in
            if held.grants.count >= Self.grantsMax { held.grants = held.grants.filter { $0.value.expires > now } }
            if held.grants.count >= Self.grantsMax { held.grants.removeAll() }
            let token = prefix + Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255, using: &held.random) })
            held.grants[token] = Grant(subject: subject, expires: now + life)
            held.issued += 1
            return token
        }
    }

    func find(_ token: String, at now: Duration) -> Finding {
        guard let grant = held.withLock({ $0.grants[token] }) else { return .unknown }
        return now < grant.expires ? .good(subject: grant.subject) : .expired
    }
}

/// The client credentials grant, as WNS, HMS and ADM use it. Source: RFC 6749 §4.4.
package struct ClientCredentials: Sendable {
    package var clientID: String
    package var clientSecret: String
    /// The required `scope`; nil when the provider requires none.
    var scope: String?

    /// Why the request gets no token, as RFC 6749 §5.2 names it; nil when it gets one.
    func complaint(about request: ServiceRequest) -> String? {
        guard request.method == "POST", request.isForm else { return "invalid_request" }
        let form = request.form
        guard form["grant_type"] == "client_credentials" else { return "unsupported_grant_type" }
        guard form["client_id"] == clientID, form["client_secret"] == clientSecret else { return "invalid_client" }
        return scope == nil || form["scope"] == scope ? nil : "invalid_scope"
    }

    static func refuse(_ error: String, status: Int = 400) -> ServiceAnswer {
        .json(status, #"{"error":"\#(error)","error_description":"\#(error)"}"#, reason: error)
    }
}

/// A limit for each window of time and key; a window begins with its first event.
///
/// Source: firebase.google.com, "Throttling and scaling": buckets are refilled each minute, not aligned with the clock.
final class Quota: Sendable {
    private struct Window {
        var began: Duration
        var used: Int
    }

    private let most: Int
    private let length: Duration
    private let windows = Mutex<[String: Window]>([:])
    /// Beyond this number all windows are dropped.
    private static let windowsMax = 100_000

    init(_ most: Int, per length: Duration) {
        self.most = most
        self.length = length
    }

    /// Takes one; or returns how long to wait for the next.
    func take(_ key: String, at now: Duration) -> Duration? {
        windows.withLock { windows in
            guard let window = windows[key], now < window.began + length else {
                if windows.count >= Self.windowsMax {
                    windows = windows.filter { now < $0.value.began + length }
                    if windows.count >= Self.windowsMax { windows.removeAll() }
                }
                windows[key] = Window(began: now, used: 1)
                return most > 0 ? nil : length
            }
            guard window.used < most else { return window.began + length - now }
            windows[key]?.used += 1
            return nil
        }
    }
}

extension Duration {
    /// Whole seconds, the next above.
    var secondsUp: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds > 0 ? seconds + 1 : seconds
    }
}
