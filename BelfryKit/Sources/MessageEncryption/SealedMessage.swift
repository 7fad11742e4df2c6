#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(CryptoKit)
public import CryptoKit
#else
public import Crypto
#endif

/// Why a message cannot be encrypted or decrypted.
public enum MessageEncryptionError: Error, Sendable, Hashable {
    /// The keys of a device are none.
    case badKeys
    /// The text is longer than fits on every platform.
    case textTooLong(bytes: Int, limit: Int)
    /// The message is damaged, is for another device, or is none.
    case unreadable
}

/// The keys that messages for one device are encrypted with, which it registers. Source: RFC 8291 §3.
public struct DeviceKeys: Sendable, Hashable, Codable {
    /// An uncompressed point of P-256, 65 bytes.
    public let publicKey: [UInt8]
    /// 16 bytes.
    public let secret: [UInt8]

    /// Texts are filled up to a multiple of this, so that their length tells little.
    public static let stepBytes = 256
    /// Ten steps without the delimiter: as much as fits on every platform.
    public static let textBytesMax = 10 * stepBytes - 1

    /// - Parameters:
    ///   - p256dh: in Base64 of either alphabet, as the server lists it.
    ///   - auth: likewise.
    public init(p256dh: String, auth: String) throws(MessageEncryptionError) {
        guard let publicKey = [UInt8](base64: p256dh), let secret = [UInt8](base64: auth) else { throw .badKeys }
        try self.init(publicKey: publicKey, secret: secret)
    }

    public init(publicKey: [UInt8], secret: [UInt8]) throws(MessageEncryptionError) {
        guard publicKey.count == ContentCoding.pointBytes, publicKey[0] == 4, secret.count == 16,
            (try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)) != nil
        else { throw .badKeys }
        self.publicKey = publicKey
        self.secret = secret
    }

    public var p256dh: String { publicKey.base64URL }
    public var auth: String { secret.base64URL }

    /// Encrypts a text for the device, in the form that `message.encrypted` takes.
    public func seal(_ text: String) throws(MessageEncryptionError) -> String {
        try seal(text, by: MessageCipher(publicKey: publicKey, secret: secret))
    }

    func seal(_ text: String, by cipher: MessageCipher) throws(MessageEncryptionError) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.textBytesMax else {
            throw .textTooLong(bytes: bytes.count, limit: Self.textBytesMax)
        }
        let padding = (Self.stepBytes - (bytes.count + 1) % Self.stepBytes) % Self.stepBytes
        do { return try cipher.seal(bytes, padding: padding).base64URL } catch { throw .badKeys }
    }
}

/// A private key that a device agrees on secrets with: one in memory, or in the Secure Enclave.
public protocol AgreementKey {
    var publicKey: P256.KeyAgreement.PublicKey { get }
    func sharedSecretFromKeyAgreement(with other: P256.KeyAgreement.PublicKey) throws -> SharedSecret
}

extension P256.KeyAgreement.PrivateKey: AgreementKey {}
#if canImport(CryptoKit)
extension SecureEnclave.P256.KeyAgreement.PrivateKey: AgreementKey {}
#endif

extension AgreementKey {
    /// Decrypts a message of the coding aes128gcm with one record, in Base64 of either alphabet.
    public func open(_ message: String, secret: [UInt8]) throws(MessageEncryptionError) -> [UInt8] {
        guard let bytes = [UInt8](base64: message) else { throw .unreadable }
        do {
            guard let text = try opened(bytes, secret: secret) else { throw MessageEncryptionError.unreadable }
            return text
        } catch {
            throw .unreadable
        }
    }

    private func opened(_ bytes: [UInt8], secret: [UInt8]) throws -> [UInt8]? {
        let head = ContentCoding.headerBytes
        guard bytes.count >= head + 2 + ContentCoding.tagBytes, Int(bytes[20]) == ContentCoding.pointBytes else {
            return nil
        }
        let recordBytes = bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard recordBytes >= ContentCoding.tagBytes + 2, bytes.count - head <= recordBytes else { return nil }
        let sender = Array(bytes[21..<head])
        let agreed = try sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: sender))
        let key = MessageCipher.key(
            agreed, secret: secret, receiver: Array(publicKey.x963Representation), sender: sender)
        return try ContentCoding(secret: key, salt: Array(bytes[..<16])).readRecord(bytes[head...])
    }
}

extension [UInt8] {
    /// Reads either alphabet, with or without padding.
    init?(base64 text: String) {
        var usual = text.replacing("-", with: "+").replacing("_", with: "/")
        while usual.hasSuffix("=") { usual.removeLast() }
        usual += String(repeating: "=", count: (4 - usual.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: usual) else { return nil }
        self = Array(data)
    }

    /// In Base64 for URLs, without padding.
    var base64URL: String {
        Data(self).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
