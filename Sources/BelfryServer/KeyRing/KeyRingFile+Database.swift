import BelfryService

extension KeyRingFile {
    /// How many secrets of a kind are tried.
    static let sampleSize = 20

    /// Throws `KeyRingError.foreign` when the ring opens none of a database's secrets, so that it is another database's.
    ///
    /// The first secret that opens is proof. More are only tried since one may be damaged, which is no reason to refuse the rest.
    ///
    /// - Parameter secrets: the first `sampleSize` of a kind.
    func demandRing(of secrets: (SealedSecret.Kind) async throws -> [SealedSecret]) async throws {
        var isSealed = false
        var lacks: Set<UInt32> = []
        let ids = try ring.ids
        for kind in [SealedSecret.Kind.sharedSecret, .credentials] {
            // A platform whose type has no provider has no credentials.
            for secret in try await secrets(kind) where !secret.seal.bytes.isEmpty {
                isSealed = true
                if let purpose = secret.purpose, (try? open(secret.seal, for: purpose)) != nil { return }
                if let id = KeyRing.keyID(of: secret.seal), id > ids.last ?? 0 { lacks.insert(id) }
            }
        }
        guard isSealed else { return }
        throw lacks.isEmpty ? KeyRingError.foreign(path) : .older(path, lacks: lacks.sorted())
    }
}
