package import BelfryService

/// Reseals every secret of a database with the newest key of the ring.
package struct Resealing: Sendable {
    private let store: any SealStore
    private let keys: KeyRingFile

    private static let stride = 200

    /// The number of secrets sealed with each key, by its id; unreadable seals count for nil.
    package typealias SealCounts = [UInt32?: Int]

    /// A secret that could not be opened, and is left unchanged.
    package struct Failure: Sendable {
        package let kind: SealedSecret.Kind
        package let reason: String
    }

    package init(store: any SealStore, keys: KeyRingFile) {
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
