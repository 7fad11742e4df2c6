import Crypto
import FoundationEssentials
import Outbound

/// Proves to the receiver that a request is from a sender with the same secret, and when it was made.
///
/// HMAC-SHA256 over id, time and body. The time is signed so that an old request cannot be replayed as a new one. The
/// id is derived from the body: the same request sent twice has the same. Source: standardwebhooks.com, specification;
/// for which there are libraries in most languages.
public struct WebhookSignature: Sendable {
    private let key: SymmetricKey

    /// Source: the same, "Symmetric signature scheme": 24 bytes or more.
    public static let secretBytesMin = 24

    /// - Parameter secret: `whsec_` followed by Base64, or any text whose bytes are the key; nil for a short one.
    public init?(secret: String) {
        let prefix = "whsec_"
        let bytes =
            secret.hasPrefix(prefix)
            ? Array(Data(base64Encoded: String(secret.dropFirst(prefix.count))) ?? Data()) : Array(secret.utf8)
        guard bytes.count >= Self.secretBytesMin else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// The headers of a request.
    ///
    /// - Parameter time: Unix seconds.
    func headers(of body: [UInt8], time: Int64) -> [(name: String, value: String)] {
        let id = "msg_\(Base64URL.encode(SHA256.hash(data: body).prefix(16)))"
        return [
            ("webhook-id", id), ("webhook-timestamp", "\(time)"),
            ("webhook-signature", "v1,\(code(of: body, id: id, time: time))"),
        ]
    }

    /// The code in Base64.
    func code(of body: [UInt8], id: String, time: Int64) -> String {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Array("\(id).\(time).".utf8))
        code.update(data: body)
        return Data(code.finalize()).base64EncodedString()
    }
}
