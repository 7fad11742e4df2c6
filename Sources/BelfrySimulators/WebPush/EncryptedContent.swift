import Crypto
import FoundationEssentials

/// Bytes in the content coding `aes128gcm`. Source: RFC 8188 §2.
package struct EncryptedContent: Sendable {
    package enum Problem: Error, Equatable {
        case tooShort
        case recordSizeTooSmall
        case severalRecords
        /// The key id is not a public key on the curve.
        case badKey
        /// A record cannot be decrypted with the key.
        case forged
        /// A record has invalid padding.
        case badPadding
    }

    private static let tagBytes = 16
    private let salt: [UInt8]
    private let recordSize: Int
    let keyID: [UInt8]
    private let records: [UInt8]

    package init(_ body: [UInt8]) throws(Problem) {
        guard body.count >= 21, body.count >= 21 + Int(body[20]) else { throw .tooShort }
        self.salt = Array(body[..<16])
        self.recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        self.keyID = Array(body[21..<21 + Int(body[20])])
        self.records = Array(body[(21 + Int(body[20]))...])
        guard recordSize >= 18 else { throw .recordSizeTooSmall }
        guard records.count > Self.tagBytes else { throw .tooShort }
    }

    var isOneRecord: Bool { records.count <= recordSize }

    /// - Parameter material: the input keying material (IKM).
    package func open(with material: [UInt8]) throws(Problem) -> [UInt8] {
        let prk = HMACText.sign(material, key: salt)
        let key = HMACText.sign(Array("Content-Encoding: aes128gcm".utf8) + [0, 1], key: prk).prefix(16)
        let nonce = Array(HMACText.sign(Array("Content-Encoding: nonce".utf8) + [0, 1], key: prk).prefix(12))
        var clear: [UInt8] = []
        var start = 0
        var number: UInt64 = 0
        while start < records.count {
            let end = min(start + recordSize, records.count)
            let record = try Self.open(records[start..<end], key: Array(key), nonce: Self.nonce(nonce, number))
            clear += try Self.withoutPadding(record, isLast: end == records.count)
            start = end
            number += 1
        }
        return clear
    }

    private static func open(_ record: ArraySlice<UInt8>, key: [UInt8], nonce: [UInt8]) throws(Problem) -> [UInt8] {
        guard record.count > tagBytes,
            let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: record.dropLast(tagBytes), tag: record.suffix(tagBytes)),
            let clear = try? AES.GCM.open(box, using: SymmetricKey(data: key))
        else { throw .forged }
        return Array(clear)
    }

    /// The last eight bytes are XORed with the number of the record.
    private static func nonce(_ nonce: [UInt8], _ number: UInt64) -> [UInt8] {
        var nonce = nonce
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * index)) }
        return nonce
    }

    /// A record ends in a delimiter, 2 for the last one and 1 for the others, and zeros.
    private static func withoutPadding(_ record: [UInt8], isLast: Bool) throws(Problem) -> ArraySlice<UInt8> {
        guard let delimiter = record.lastIndex(where: { $0 != 0 }), record[delimiter] == (isLast ? 2 : 1) else {
            throw .badPadding
        }
        return record[..<delimiter]
    }
}
