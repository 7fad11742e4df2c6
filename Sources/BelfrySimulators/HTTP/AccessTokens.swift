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
