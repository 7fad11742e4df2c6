import Crypto

/// Encrypts one message for one browser. Source: RFC 8291.
///
/// The key agreement is expensive: two multiplications on the curve for each message, which needs its own key pair. The
/// rest is a dozen hashes.
struct WebPushCipher {
    /// The header says 4,096 whatever the message, so that it does not reveal the length. Source: RFC 8291 §4.
    static let recordBytes: UInt32 = 4_096

    private let subscription: WebPushSubscription
    private let ephemeral: P256.KeyAgreement.PrivateKey
    private let salt: [UInt8]

    /// - Parameters:
    ///   - ephemeral: never to be used for a second message.
    init(
        for subscription: WebPushSubscription,
        ephemeral: P256.KeyAgreement.PrivateKey = newKey(),
        salt: [UInt8] = randomSalt()
    ) {
        self.subscription = subscription
        self.ephemeral = ephemeral
        self.salt = salt
    }

    /// Throws when the subscription's key is not on the curve.
    func seal(_ plaintext: [UInt8]) throws -> [UInt8] {
        let senderKey = Array(ephemeral.publicKey.x963Representation)
        let coding = ContentCoding(secret: try secret(with: senderKey), salt: salt)
        var body: [UInt8] = []
        body.reserveCapacity(WebPushMessage.overheadBytes + plaintext.count)
        coding.writeHeader(recordBytes: Self.recordBytes, keyID: senderKey, to: &body)
        try coding.writeRecord(plaintext, to: &body)
        return body
    }

    /// Source: RFC 8291 §3.4.
    private func secret(with senderKey: [UInt8]) throws -> SymmetricKey {
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey)
        var info = Self.infoPrefix
        info.reserveCapacity(info.count + 130)
        info += subscription.publicKey
        info += senderKey
        return try ephemeral.sharedSecretFromKeyAgreement(with: receiver).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.authSecret, sharedInfo: info, outputByteCount: 32)
    }

    private static let infoPrefix = Array("WebPush: info\0".utf8)

    /// Tests candidates; one in 2³² fails. swift-crypto's own way also signs with the new key and verifies that, which
    /// costs more than the agreement. Source: FIPS 186-4, B.4.2.
    static func newKey() -> P256.KeyAgreement.PrivateKey {
        while true {
            let candidate = SymmetricKey(size: .bits256)
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: candidate) { return key }
        }
    }

    static func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return withUnsafeBytes(of: (generator.next(), generator.next())) { Array($0) }
    }
}
