package import BelfryCore
import Crypto
import Foundation

/// Seals secrets with AES-256-GCM. The newest key seals; every key of the ring opens what it sealed.
///
/// A seal is: one byte for the format (1), four for the key's id, twelve for the nonce, the ciphertext, sixteen for the
/// tag. The purpose is authenticated with it. The ring is a file beside the database and never in it: one line a key,
/// `id:64 hex digits`, the newest last.
package struct KeyRing: Vault {
    private let keys: [UInt32: SymmetricKey]
    private let newest: UInt32

    private static let format: UInt8 = 1
    private static let headerBytes = 5

    /// Throws `KeyRingError` with the line that is wrong.
    package init(text: String) throws {
        var keys: [UInt32: SymmetricKey] = [:]
        var newest: UInt32?
        for (number, line) in text.split(whereSeparator: \.isNewline).enumerated() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let id = UInt32(parts[0]), let bytes = [UInt8](hex: parts[1].utf8),
                bytes.count == 32
            else { throw KeyRingError.badLine(number + 1) }
            guard keys.updateValue(SymmetricKey(data: bytes), forKey: id) == nil else {
                throw KeyRingError.repeatedID(id)
            }
            newest = id
        }
        guard let newest else { throw KeyRingError.empty }
        self.keys = keys
        self.newest = newest
    }

    /// Reads the ring; makes one with a single new key, readable by its owner alone, where there is none.
    package static func open(at path: String, createIfMissing: Bool) throws -> KeyRing {
        guard let data = FileManager.default.contents(atPath: path) else {
            guard createIfMissing, !FileManager.default.fileExists(atPath: path) else {
                throw KeyRingError.unreadable(path)
            }
            let text = "1:\(SymmetricKey(size: .bits256).bytes.hex)\n"
            guard
                FileManager.default.createFile(
                    atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            else { throw KeyRingError.unwritable(path) }
            return try KeyRing(text: text)
        }
        return try KeyRing(text: String(decoding: data, as: UTF8.self))
    }

    package func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed {
        guard let key = keys[newest] else { throw VaultError.unknownKey(id: newest) }
        let box = try AES.GCM.seal(secret, using: key, authenticating: Array(purpose.utf8))
        let id = withUnsafeBytes(of: newest.bigEndian) { [UInt8]($0) }
        return Sealed(bytes: [Self.format] + id + [UInt8](box.nonce) + box.ciphertext + box.tag)
    }

    package func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        let bytes = sealed.bytes
        guard bytes.count >= Self.headerBytes + 28, bytes[0] == Self.format else { throw VaultError.broken }
        let id = bytes[1..<Self.headerBytes].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let key = keys[id] else { throw VaultError.unknownKey(id: id) }
        do {
            let box = try AES.GCM.SealedBox(combined: bytes[Self.headerBytes...])
            return Array(try AES.GCM.open(box, using: key, authenticating: Array(purpose.utf8)))
        } catch {
            throw VaultError.broken
        }
    }
}

extension SymmetricKey {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

package enum KeyRingError: Error, Sendable, Hashable, CustomStringConvertible {
    case unreadable(String)
    case unwritable(String)
    case empty
    case badLine(Int)
    case repeatedID(UInt32)

    package var description: String {
        switch self {
        case .unreadable(let path): "the key ring \(path) is missing or cannot be read"
        case .unwritable(let path): "the key ring \(path) cannot be written"
        case .empty: "the key ring holds no key"
        case .badLine(let line): "line \(line) of the key ring is no `id:64 hex digits`"
        case .repeatedID(let id): "the key ring holds key \(id) twice"
        }
    }
}
