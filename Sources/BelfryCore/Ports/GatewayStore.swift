/// The client certificates of the binary gateway.
package protocol GatewayStore: Sendable {
    /// Throws `StoreError.notEmpty` when a platform has the certificate already, or has as many as it may.
    func createGatewayCredential(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Key<Platform>
    ) async throws -> GatewayCredential
    func gatewayCredential(_ fingerprint: [UInt8]) async throws -> GatewayCredential?
    func gatewayCredentials(of platform: Key<Platform>) async throws -> [GatewayCredential]
    /// Returns false when there is none.
    func delete(_ credential: Key<GatewayCredential>, of platform: Key<Platform>) async throws -> Bool
}
