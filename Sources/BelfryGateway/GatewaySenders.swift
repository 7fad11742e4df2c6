import BelfryService
import Crypto

/// Finds the platform that a sender's certificate chooses.
struct GatewaySenders: Sendable {
    let store: any GatewayStore & ApplicationStore
    let clock: any WallClock

    /// nil for a certificate that chooses none, or that has expired.
    func platform(of certificate: [UInt8]) async throws -> Platform? {
        guard !certificate.isEmpty else { return nil }
        let fingerprint = Array(SHA256.hash(data: certificate))
        guard let credential = try await store.gatewayCredential(fingerprint),
            credential.expiresAt.map({ clock.now < $0 }) ?? true
        else { return nil }
        return try await store.platform(credential.platform)
    }
}
