import Crypto
import KeyFiles
import Outbound

/// The key pair that identifies the sender to push services. Browsers bind subscriptions to its public half.
///
/// Source: RFC 8292.
public struct VAPIDKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Creates a new key.
    public init() { key = P256.Signing.PrivateKey(compactRepresentable: false) }

    /// - Parameter text: 32 bytes in Base64, as the tools of Web Push write it, or PEM.
    public init(_ text: String) throws(WebPushError) {
        do {
            if let raw = Base64Text.decode(text.utf8), raw.count == 32 {
                key = try P256.Signing.PrivateKey(rawRepresentation: raw)
            } else {
                key = try P256.Signing.PrivateKey(derRepresentation: PEMFile(text).privateKey())
            }
        } catch {
            throw WebPushError("the VAPID key has to be a P-256 private key, 32 bytes in Base64 or PEM")
        }
    }

    /// 32 bytes in Base64 for URLs.
    public var privateText: String { Base64URL.encode(key.rawRepresentation) }

    /// The `applicationServerKey` for an app: 65 bytes in Base64 for URLs.
    public var publicText: String { Base64URL.encode(key.publicKey.x963Representation) }

    /// A token for one push service.
    ///
    /// - Parameters:
    ///   - expiresAt: Unix seconds.
    func token(audience: String, subject: String?, expiresAt: Int64) throws -> String {
        let head = Base64URL.encode(#"{"typ":"JWT","alg":"ES256"}"#.utf8)
        let contact = subject.map { #","sub":"\#($0)""# } ?? ""
        let claims = Base64URL.encode(#"{"aud":"\#(audience)","exp":\#(expiresAt)\#(contact)}"#.utf8)
        let signed = "\(head).\(claims)"
        let signature = try key.signature(for: Array(signed.utf8))
        return "\(signed).\(Base64URL.encode(signature.rawRepresentation))"
    }

    func verifies(_ signature: [UInt8], of text: String) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.publicKey.isValidSignature(signature, for: Array(text.utf8))
    }
}
