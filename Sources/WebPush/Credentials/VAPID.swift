import Synchronization

/// The sender's identity for push services: one signed token for each of them and each hour, made when first needed.
public final class VAPID: Sendable {
    private let key: VAPIDKey
    private let subject: String?
    private let held = Mutex<[String: Held]>([:])

    private struct Held {
        let header: String
        let hour: Int64
    }

    /// Services accept a day at most; clocks differ. Source: RFC 8292 §2.
    static let life: Int64 = 12 * 3_600
    /// Subscriptions name their services, so anyone can add one.
    static let heldMax = 1_024

    /// - Parameter subject: `mailto:` or `https:`, the contact for the operators of push services. Apple and Mozilla
    ///   require it.
    public init(key: VAPIDKey, subject: String?) throws(WebPushError) {
        if let subject { try Self.check(subject) }
        self.key = key
        self.subject = subject
    }

    /// The `applicationServerKey` for an app.
    public var publicKey: String { key.publicText }

    /// The `Authorization` header for a service. Source: RFC 8292 §3.
    ///
    /// - Parameters:
    ///   - origin: as ``WebPushSubscription/origin``.
    ///   - now: Unix seconds.
    func header(for origin: String, now: Int64) throws -> String {
        try held.withLock { held in
            let hour = now / 3_600
            if let known = held[origin], known.hour == hour { return known.header }
            let token = try key.token(audience: origin, subject: subject, expiresAt: now + Self.life)
            let header = "vapid t=\(token), k=\(key.publicText)"
            if held.count >= Self.heldMax { held = [:] }
            held[origin] = Held(header: header, hour: hour)
            return header
        }
    }

    /// Drops a token that a service refused, unless another answer already had it replaced.
    func forget(_ header: String, for origin: String) {
        held.withLock { held in
            if held[origin]?.header == header { held[origin] = nil }
        }
    }

    /// It is put into JSON unescaped. Apple refuses spaces, angle brackets and hosts that mean the sender's own
    /// machine.
    private static func check(_ subject: String) throws(WebPushError) {
        let isPlain = subject.utf8.allSatisfy { 0x21...0x7E ~= $0 && !#"<>"\"#.utf8.contains($0) }
        let isPage =
            subject.hasPrefix("https://") && subject.dropFirst(8).first.map { $0.isLetter || $0.isNumber } == true
        let isMail = subject.hasPrefix("mailto:") && subject.dropFirst(7).contains("@")
        guard isPlain, isMail || isPage else {
            throw WebPushError("subject has to be mailto:name@host or an https URL, without spaces")
        }
        guard !subject.hasSuffix("@localhost") else {
            throw WebPushError("subject names localhost, which push services refuse")
        }
    }
}
