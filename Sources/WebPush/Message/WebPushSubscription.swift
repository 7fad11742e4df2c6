import FoundationEssentials
import Outbound

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
        try self.init(endpoint: endpoint, p256dh: p256dh.utf8, auth: auth.utf8)
    }

    private init(
        endpoint: String, p256dh: some Collection<UInt8>, auth: some Collection<UInt8>
    ) throws(WebPushError) {
        guard let origin = Self.origin(of: endpoint) else {
            throw WebPushError("endpoint has to be an https URL of visible ASCII without a user")
        }
        guard let key = Base64URL.decode(p256dh), key.count == 65, key[0] == 4 else {
            throw WebPushError("p256dh has to be an uncompressed point of P-256 in Base64, 65 bytes")
        }
        guard let secret = Base64URL.decode(auth), secret.count == 16 else {
            throw WebPushError("auth has to be 16 bytes in Base64")
        }
        self.endpoint = endpoint
        self.origin = origin
        publicKey = key
        authSecret = secret
    }

    /// Reads what `JSON.stringify(subscription)` returns in a browser. Source: W3C Push API, `toJSON`.
    public init(json: [UInt8]) throws(WebPushError) {
        if let usual = SubscriptionScanner(json) {
            let endpoint = String(decoding: usual.endpoint, as: UTF8.self)
            try self.init(endpoint: endpoint, p256dh: usual.p256dh, auth: usual.auth)
            return
        }
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
        let rest = endpoint.utf8.dropFirst(8)
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        let authority = endpoint[rest.startIndex..<end].lowercased()
        guard !authority.isEmpty, !authority.hasPrefix(":"),
            !authority.utf8.contains(where: { $0 == 0x40 || $0 == 0x5C })
        else { return nil }
        return scheme + (authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority)
    }
}
