import BelfryCore

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
        for kind in [SealedSecret.Kind.sharedSecret, .credentials] {
            // A platform whose type has no provider has no credentials.
            for secret in try await secrets(kind) where !secret.seal.bytes.isEmpty {
                isSealed = true
                if let purpose = secret.purpose, (try? open(secret.seal, for: purpose)) != nil { return }
            }
        }
        if isSealed { throw KeyRingError.foreign(path) }
    }
}
