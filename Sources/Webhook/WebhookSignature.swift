import Crypto

/// Proves to the receiver that a request is from who shares its secret, and when it was made.
///
/// `Belfry-Signature: t=1750000000,v1=<hex>`: HMAC-SHA256 over the time, a full stop, and the body. The time is signed so
/// that an old request cannot be sent again as a new one.
public struct WebhookSignature: Sendable, Hashable {
    public static let header = "belfry-signature"
    public static let secretBytesMin = 16

    /// - Parameter time: Unix seconds.
    public static func value(of body: [UInt8], time: Int64, secret: String) -> String {
        var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
        code.update(data: Array("\(time).".utf8))
        code.update(data: body)
        let hex = code.finalize().map { $0 < 16 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined()
        return "t=\(time),v1=\(hex)"
    }
}
