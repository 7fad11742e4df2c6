import Crypto
import FoundationEssentials
import Synchronization

/// The sender, from `Authorization: vapid t=…, k=…`. Source: RFC 8292 §2, §3.
struct VAPIDHeader: Hashable {
    var token: String
    /// base64url of an uncompressed P-256 point.
    var key: String

    /// - Parameter credentials: the text after the scheme `vapid`.
    init?(_ credentials: String) {
        var parameters: [String: String] = [:]
        for part in credentials.split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { return nil }
            parameters[Words.trim(sides[0])] = Words.trim(sides[1])
        }
        guard let token = parameters["t"], let key = parameters["k"] else { return nil }
        self.token = token
        self.key = key
    }
}

/// The claims of a VAPID token whose signature matches its key.
struct VAPIDClaims: Sendable, Equatable {
    /// Source: RFC 8292 §2: no more than 24 hours.
    static let lifeMaxSeconds: Int64 = 24 * 3600

    var audience: String
    /// Seconds since 1970.
    var expires: Int64
    var subject: String?

    /// The fault of the claims; nil when there is none.
    func complaint(origin: String, at now: Int64, requiresSubject: Bool) -> String? {
        if audience != origin { return "aud is \(audience), not \(origin)" }
        if expires <= now { return "exp is over" }
        if expires > now + Self.lifeMaxSeconds { return "exp is more than 24 hours ahead" }
        guard let subject else { return requiresSubject ? "sub is missing" : nil }
        return Self.isSubject(subject) ? nil : "sub is neither a mailto: nor an https: address"
    }

    private static func isSubject(_ text: String) -> Bool {
        let isAddress = text.hasPrefix("mailto:") && text.contains("@") || text.hasPrefix("https://")
        return isAddress && !text.contains(where: { $0 == " " || $0 == "<" || $0 == ">" })
    }
}

/// Reads VAPID tokens, and does the expensive part (JSON and signature) once for each.
final class VAPIDCheck: Sendable {
    private let findings = Mutex<[VAPIDHeader: VAPIDClaims?]>([:])
    /// Bounds the memory for a sender that makes a new token for each message.
    private static let findingsMax = 4096

    /// The claims, if the token is signed by the key beside it.
    func claims(of header: VAPIDHeader) -> VAPIDClaims? {
        if let known = findings.withLock({ $0[header] }) { return known }
        let claims = Self.examine(header)
        findings.withLock { findings in
            if findings.count >= Self.findingsMax { findings.removeAll() }
            findings.updateValue(claims, forKey: header)
        }
        return claims
    }

    private static func examine(_ header: VAPIDHeader) -> VAPIDClaims? {
        let parts = header.token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let head = Base64URL.decode(parts[0]).flatMap(JSON.init), head["alg"]?.string == "ES256",
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init),
            let audience = claims["aud"]?.string, let expires = claims["exp"]?.integer,
            let signature = Base64URL.decode(parts[2]).flatMap({
                try? P256.Signing.ECDSASignature(rawRepresentation: $0)
            }),
            let point = Base64URL.decode(header.key[...]),
            let key = try? P256.Signing.PublicKey(x963Representation: point),
            key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return VAPIDClaims(audience: audience, expires: expires, subject: claims["sub"]?.string)
    }
}
