import Crypto
import FoundationEssentials

/// The keys of a receiving browser, which only it knows.
package struct WebPushReceiver: Sendable {
    let key: P256.KeyAgreement.PrivateKey
    let auth: [UInt8]

    package init() {
        self.key = P256.KeyAgreement.PrivateKey()
        self.auth = (0..<16).map { _ in UInt8.random(in: 0...255) }
    }

    /// - Parameters:
    ///   - privateKey: the 32 bytes of a P-256 private key, in base64url.
    ///   - auth: 16 bytes, in base64url.
    package init(privateKey: String, auth: String) throws {
        self.key = try P256.KeyAgreement.PrivateKey(rawRepresentation: Base64URL.decode(privateKey[...]) ?? [])
        self.auth = Base64URL.decode(auth[...]) ?? []
    }

    var publicKey: [UInt8] { Array(key.publicKey.x963Representation) }

    /// The clear text of a push message.
    ///
    /// Source: RFC 8291 §3, §4: one record, the sender's public key as its key id.
    package func open(_ body: [UInt8]) throws(EncryptedContent.Problem) -> [UInt8] {
        let content = try EncryptedContent(body)
        guard content.isOneRecord else { throw .severalRecords }
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: content.keyID),
            let shared = try? key.sharedSecretFromKeyAgreement(with: sender)
        else { throw .badKey }
        let ecdh = shared.withUnsafeBytes { Array($0) }
        let prk = HMACText.sign(ecdh, key: auth)
        let info = Array("WebPush: info".utf8) + [0] + publicKey + content.keyID
        return try content.open(with: HMACText.sign(info + [1], key: prk))
    }
}

/// HMAC with SHA-256 over bytes.
enum HMACText {
    static func sign(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}
