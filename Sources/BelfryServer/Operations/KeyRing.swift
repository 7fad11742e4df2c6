package import BelfryService
import Crypto
import FoundationEssentials
import SystemPackage

/// Seals secrets with AES-256-GCM, using the newest key; every key of the ring opens what it sealed.
///
/// A seal is: one byte for the format (1), four for the key's id, twelve for the nonce, the ciphertext, sixteen for the
/// tag. The purpose is authenticated with it. The ring is a file beside the database and never in it: one line for each
/// key, `id:64 hex digits`, the newest last.
package struct KeyRing: Vault {
    private var keys: [UInt32: SymmetricKey]
    /// Oldest first.
    package private(set) var ids: [UInt32]

    private static let format: UInt8 = 1
    private static let headerBytes = 5

    /// A ring with one new key.
    package init() {
        (keys, ids) = ([:], [])
        addKey()
    }

    /// Throws `KeyRingError` with the invalid line.
    package init(text: String) throws(KeyRingError) {
        (keys, ids) = ([:], [])
        for (number, line) in text.split(whereSeparator: \.isNewline).enumerated() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let id = UInt32(parts[0]), let bytes = [UInt8](hex: parts[1].utf8),
                bytes.count == 32
            else { throw .badLine(number + 1) }
            guard keys.updateValue(SymmetricKey(data: bytes), forKey: id) == nil else { throw .repeatedID(id) }
            ids.append(id)
        }
        guard !ids.isEmpty else { throw .empty }
    }

    var text: String { ids.compactMap { id in keys[id].map { "\(id):\($0.bytes.hex)\n" } }.joined() }

    /// Adds a key, which seals from now on; returns its id.
    @discardableResult package mutating func addKey() -> UInt32 {
        let id = (ids.max() ?? 0) + 1
        keys[id] = SymmetricKey(size: .bits256)
        ids.append(id)
        return id
    }

    /// Throws for the key that seals, and for one that does not exist.
    package mutating func drop(_ id: UInt32) throws(KeyRingError) {
        guard id != ids.last else { throw .newest(id) }
        guard keys.removeValue(forKey: id) != nil else { throw .unknown(id) }
        ids.removeAll { $0 == id }
    }

    /// The id of the key that made a seal; nil when it is damaged.
    package static func keyID(of sealed: Sealed) -> UInt32? {
        guard sealed.bytes.count >= headerBytes + 28, sealed.bytes[0] == format else { return nil }
        return sealed.bytes[1..<headerBytes].reduce(0) { $0 << 8 | UInt32($1) }
    }

    package func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed {
        guard let newest = ids.last, let key = keys[newest] else { throw VaultError.unknownKey(id: 0) }
        let box = try AES.GCM.seal(secret, using: key, authenticating: Array(purpose.utf8))
        let id = withUnsafeBytes(of: newest.bigEndian) { [UInt8]($0) }
        return Sealed(bytes: [Self.format] + id + [UInt8](box.nonce) + box.ciphertext + box.tag)
    }

    package func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        guard let id = Self.keyID(of: sealed) else { throw VaultError.broken }
        guard let key = keys[id] else { throw VaultError.unknownKey(id: id) }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.bytes[Self.headerBytes...])
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
    case unreadable(FileFault)
    case unwritable(FileFault)
    /// A draft of a change is there.
    case beingChanged(String)
    /// The ring of another database.
    case foreign(String)
    /// A ring of this database from before keys were added.
    case older(String, lacks: [UInt32])
    case empty
    case badLine(Int)
    case repeatedID(UInt32)
    case unknown(UInt32)
    case newest(UInt32)
    case inUse(UInt32, secrets: Int)

    package var description: String {
        switch self {
        case .unreadable(let fault) where fault.code == .noSuchFileOrDirectory:
            "the key ring \(fault) (key.ring.file): it is made with the database, and every node has the same. \(Self.rightRing)"
        case .unreadable(let fault):
            "the key ring \(fault) (key.ring.file). It is there: mend that, and put no other ring in its place"
        case .unwritable(let fault): "the key ring \(fault)"
        case .beingChanged(let path):
            "the key ring \(path) is being changed by another command, or a change of it was cut off before it counted: then delete "
                + "\(path).new, with which nothing is sealed, and leave the ring"
        case .foreign(let path):
            "the key ring \(path) is of another database, it opens none of the secrets of this one: name the ring that the other nodes "
                + "have, or that was backed up with this database (key.ring.file)"
        case .older(let path, let lacks):
            "the key ring \(path) is from before `belfry keys rotate` or `add`: it lacks key \(lacks.map(String.init).joined(separator: ", ")), "
                + "with which this database is sealed (key.ring.file). Keep it. \(Self.rightRing)"
        case .empty: "the key ring holds no key"
        case .badLine(let line): "line \(line) of the key ring is not `id:64 hex digits`"
        case .repeatedID(let id): "the key ring holds key \(id) twice"
        case .unknown(let id): "the key ring holds no key \(id)"
        case .newest(let id): "key \(id) is the newest, which seals; `belfry keys rotate` makes a newer one"
        case .inUse(let id, let secrets):
            (secrets == 1 ? "1 secret is" : "\(secrets) secrets are")
                + " sealed with key \(id); `belfry keys rotate` seals all with the newest"
        }
    }

    /// Which copy of a ring may be used.
    private static let rightRing =
        "Take the newest one, of a node that runs or of a backup made after the last `belfry keys rotate` or `add`: what was sealed with a "
        + "newer key than a ring has is lost without it"
}

/// Reseals every secret of a database with the newest key of the ring.
package struct Resealing: Sendable {
    private let store: any Store
    private let keys: KeyRingFile

    private static let stride = 200

    /// The number of secrets sealed with each key, by its id; unreadable seals count for nil.
    package typealias SealCounts = [UInt32?: Int]

    /// A secret that could not be opened, and is left unchanged.
    package struct Failure: Sendable {
        package let kind: SealedSecret.Kind
        package let reason: String
    }

    package init(store: any Store, keys: KeyRingFile) {
        self.store = store
        self.keys = keys
    }

    package func sealCounts() async throws -> SealCounts {
        var sealCounts: SealCounts = [:]
        try await each { sealCounts[KeyRing.keyID(of: $0.seal), default: 0] += 1 }
        return sealCounts
    }

    /// Returns the number of resealed secrets, and those that could not be resealed.
    ///
    /// A secret that is changed meanwhile is sealed with the newest key anyway.
    package func run() async throws -> (resealed: Int, lost: [Failure]) {
        let ring = try keys.ring
        var (resealed, lost) = (0, [Failure]())
        try await each { secret in
            guard KeyRing.keyID(of: secret.seal) != ring.ids.last else { return }
            do {
                guard let purpose = secret.purpose else { throw VaultError.broken }
                let seal = try ring.seal(try ring.open(secret.seal, for: purpose), for: purpose)
                if try await store.reseal(secret, as: seal) { resealed += 1 }
            } catch let error as VaultError {
                lost.append(Failure(kind: secret.kind, reason: "\(error)"))
            }
        }
        return (resealed, lost)
    }

    /// Removes a key from the ring when nothing is sealed with it any more.
    package func drop(_ id: UInt32) async throws {
        if let count = try await sealCounts()[id] { throw KeyRingError.inUse(id, secrets: count) }
        try keys.change { (ring) throws(KeyRingError) in try ring.drop(id) }
    }

    private func each(_ body: (SealedSecret) async throws -> Void) async throws {
        for kind in SealedSecret.Kind.allCases {
            var last: [UInt8]?
            while true {
                let secrets = try await store.sealedSecrets(kind, after: last, limit: Self.stride)
                // A platform whose type has no provider has no credentials.
                for secret in secrets where !secret.seal.bytes.isEmpty { try await body(secret) }
                guard secrets.count == Self.stride else { break }
                last = secrets.last?.name
            }
        }
    }
}
