import Outbound

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import FoundationEssentials
#endif

/// The endpoint of one browser, and the keys that only it can decrypt for.
public struct WebPushSubscription: Sendable, Hashable {
    /// Kept byte for byte.
    public let endpoint: String
    /// `https://host`, with the port where it is not 443: the audience of a VAPID token.
    public let origin: String
    /// An uncompressed point of P-256, 65 bytes.
    public let publicKey: [UInt8]
    /// 16 bytes.
    public let authSecret: [UInt8]

    /// Keys are in Base64 of either alphabet, as browsers give them.
    public init(endpoint: String, p256dh: String, auth: String) throws(WebPushError) {
        guard let origin = Self.origin(of: endpoint) else {
            throw WebPushError("endpoint has to be an https URL of visible ASCII without a user")
        }
        guard let key = Base64URL.decode(p256dh.utf8), key.count == 65, key[0] == 4 else {
            throw WebPushError("p256dh has to be an uncompressed point of P-256 in Base64, 65 bytes")
        }
        guard let secret = Base64URL.decode(auth.utf8), secret.count == 16 else {
            throw WebPushError("auth has to be 16 bytes in Base64")
        }
        self.endpoint = endpoint
        self.origin = origin
        publicKey = key
        authSecret = secret
    }

    /// Reads what `JSON.stringify(subscription)` returns in a browser. Source: W3C Push API, `toJSON`.
    public init(json: [UInt8]) throws(WebPushError) {
        let parsed: Written
        do {
            parsed = try JSONDecoder().decode(Written.self, from: Data(json))
        } catch {
            throw WebPushError("subscription has to be JSON with endpoint, keys.p256dh and keys.auth")
        }
        try self.init(endpoint: parsed.endpoint, p256dh: parsed.keys.p256dh, auth: parsed.keys.auth)
    }

    private struct Written: Decodable {
        let endpoint: String
        let keys: Keys

        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }
    }

    /// Source: RFC 6454 §6.2.
    private static func origin(of endpoint: String) -> String? {
        let scheme = "https://"
        guard endpoint.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), endpoint.prefix(8).lowercased() == scheme else {
            return nil
        }
        let authority = endpoint.dropFirst(8).prefix { !"/?#".contains($0) }.lowercased()
        guard !authority.isEmpty, !authority.hasPrefix(":"), !authority.contains(where: { "@\\".contains($0) }) else {
            return nil
        }
        return scheme + (authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority)
    }
}
