import Crypto

/// The content coding aes128gcm: a header, then records that are encrypted one by one.
///
/// Source: RFC 8188. Web Push uses one record, and the sender's public key as the key id.
struct ContentCoding {
    static let saltBytes = 16
    static let tagBytes = 16

    private let key: SymmetricKey
    private let nonce: [UInt8]
    private let salt: [UInt8]

    /// Source: RFC 8188 §2.2, §2.3.
    init(secret: SymmetricKey, salt: [UInt8]) {
        let pseudorandom = HKDF<SHA256>.extract(inputKeyMaterial: secret, salt: salt)
        key = HKDF<SHA256>.expand(pseudoRandomKey: pseudorandom, info: Self.keyInfo, outputByteCount: 16)
        nonce = HKDF<SHA256>.expand(pseudoRandomKey: pseudorandom, info: Self.nonceInfo, outputByteCount: 12)
            .withUnsafeBytes { Array($0) }
        self.salt = salt
    }

    private static let keyInfo = Array("Content-Encoding: aes128gcm\0".utf8)
    private static let nonceInfo = Array("Content-Encoding: nonce\0".utf8)

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
        let sealed = try AES.GCM.seal(record, using: key, nonce: AES.GCM.Nonce(data: nonce(of: sequence)))
        body.append(contentsOf: sealed.ciphertext)
        body.append(contentsOf: sealed.tag)
    }

    private func nonce(of sequence: UInt64) -> [UInt8] {
        guard sequence > 0 else { return nonce }
        var nonce = nonce
        for index in 0..<8 { nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> UInt64(index * 8)) }
        return nonce
    }
}
