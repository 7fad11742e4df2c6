#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

/// Encrypts one message for one device, or for one browser. Source: RFC 8291.
///
/// The key agreement is expensive: two multiplications on the curve for each message, which needs its own key pair. The
/// rest is a dozen hashes.
public struct MessageCipher {
    /// The header says 4,096 whatever the message, so that it does not reveal the length. Source: RFC 8291 §4.
    static let recordBytes: UInt32 = 4_096
    /// The header of the coding, the delimiter and the tag. Source: RFC 8291 §4.
    public static let overheadBytes = ContentCoding.headerBytes + 1 + ContentCoding.tagBytes

    private let publicKey: [UInt8]
    private let secret: [UInt8]
    private let ephemeral: P256.KeyAgreement.PrivateKey
    private let salt: [UInt8]

    /// - Parameters:
    ///   - publicKey: the receiver's, an uncompressed point of P-256.
    ///   - secret: the receiver's, 16 bytes.
    public init(publicKey: [UInt8], secret: [UInt8]) {
        self.init(publicKey: publicKey, secret: secret, ephemeral: Self.newKey(), salt: Self.randomSalt())
    }

    /// - Parameter ephemeral: never to be used for a second message.
    init(publicKey: [UInt8], secret: [UInt8], ephemeral: P256.KeyAgreement.PrivateKey, salt: [UInt8]) {
        self.publicKey = publicKey
        self.secret = secret
        self.ephemeral = ephemeral
        self.salt = salt
    }

    /// Throws when the receiver's key is not on the curve.
    ///
    /// - Parameter padding: zeros behind the text, which hide its length.
    public func seal(_ plaintext: [UInt8], padding: Int = 0) throws -> [UInt8] {
        let senderKey = Array(ephemeral.publicKey.x963Representation)
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: publicKey)
        let agreed = try ephemeral.sharedSecretFromKeyAgreement(with: receiver)
        let coding = ContentCoding(
            secret: Self.key(agreed, secret: secret, receiver: publicKey, sender: senderKey), salt: salt)
        var body: [UInt8] = []
        body.reserveCapacity(Self.overheadBytes + plaintext.count + padding)
        coding.writeHeader(recordBytes: Self.recordBytes, keyID: senderKey, to: &body)
        try coding.writeRecord(plaintext, padding: padding, to: &body)
        return body
    }

    /// Source: RFC 8291 §3.4.
    static func key(_ agreed: SharedSecret, secret: [UInt8], receiver: [UInt8], sender: [UInt8]) -> [UInt8] {
        var info = infoPrefix
        info.reserveCapacity(info.count + receiver.count + sender.count + 1)
        info += receiver
        info += sender
        info.append(1)
        let extracted = Primitives.code(of: agreed.withUnsafeBytes { Array($0) }, key: secret)
        return Primitives.code(of: info, key: extracted)
    }

    private static let infoPrefix = Array("WebPush: info\0".utf8)

    /// Tests candidates; one in 2³² fails. swift-crypto's own way also signs with the new key and verifies that, which
    /// costs more than the agreement. Source: FIPS 186-4, B.4.2.
    private static func newKey() -> P256.KeyAgreement.PrivateKey {
        while true {
            let candidate = SymmetricKey(size: .bits256)
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: candidate) { return key }
        }
    }

    private static func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return withUnsafeBytes(of: (generator.next(), generator.next())) { Array($0) }
    }
}

/// The content coding aes128gcm: a header, then records that are encrypted one by one.
///
/// Source: RFC 8188. Web Push uses one record, and the sender's public key as the key id.
struct ContentCoding {
    static let tagBytes = 16
    static let saltBytes = 16
    static let pointBytes = 65
    /// With the sender's key as the key id.
    static let headerBytes = saltBytes + 4 + 1 + pointBytes

    private let key: [UInt8]
    private let nonce: [UInt8]
    private let salt: [UInt8]

    /// Source: RFC 8188 §2.2, §2.3.
    init(secret: [UInt8], salt: [UInt8]) {
        let pseudorandom = Primitives.code(of: secret, key: salt)
        key = Array(Primitives.code(of: Self.keyInfo, key: pseudorandom).prefix(16))
        nonce = Array(Primitives.code(of: Self.nonceInfo, key: pseudorandom).prefix(12))
        self.salt = salt
    }

    private static let keyInfo = Array("Content-Encoding: aes128gcm\0\u{1}".utf8)
    private static let nonceInfo = Array("Content-Encoding: nonce\0\u{1}".utf8)

    /// Source: RFC 8188 §2.1.
    func writeHeader(recordBytes: UInt32, keyID: [UInt8], to body: inout [UInt8]) {
        body += salt
        for shift in [24, 16, 8, 0] as [UInt32] { body.append(UInt8(truncatingIfNeeded: recordBytes >> shift)) }
        body.append(UInt8(keyID.count))
        body += keyID
    }

    /// Source: RFC 8188 §2: a delimiter, 2 in the last record, and then zeros.
    func writeRecord(
        _ plaintext: some Collection<UInt8>, padding: Int = 0, sequence: UInt64 = 0, isLast: Bool = true,
        to body: inout [UInt8]
    ) throws {
        var record: [UInt8] = []
        record.reserveCapacity(plaintext.count + 1 + padding)
        record += plaintext
        record.append(isLast ? 2 : 1)
        record.append(contentsOf: repeatElement(0, count: padding))
        body += try Primitives.seal(record, key: key, nonce: nonce(of: sequence))
    }

    /// The text of the one record of a message; nil where that has no delimiter. Throws where it was changed, or is for somebody else.
    func readRecord(_ record: ArraySlice<UInt8>) throws -> [UInt8]? {
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce), ciphertext: record.dropLast(Self.tagBytes),
            tag: record.suffix(Self.tagBytes))
        let text = Array(try AES.GCM.open(box, using: SymmetricKey(data: key)))
        guard let end = text.lastIndex(where: { $0 != 0 }), text[end] == 2 else { return nil }
        return Array(text[..<end])
    }

    private func nonce(of sequence: UInt64) -> [UInt8] {
        guard sequence > 0 else { return nonce }
        var nonce = nonce
        for index in 0..<8 { nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> UInt64(index * 8)) }
        return nonce
    }
}
