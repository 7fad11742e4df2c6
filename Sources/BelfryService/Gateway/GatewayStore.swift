/// The client certificates of the binary gateway.
package protocol GatewayStore: Sendable {
    /// Throws `StoreError.conflict` when a platform has the certificate already, or has the most that it may have.
    func createGatewayCredential(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Key<Platform>
    ) async throws -> GatewayCredential
    func gatewayCredential(_ fingerprint: [UInt8]) async throws -> GatewayCredential?
    func gatewayCredentials(of platform: Key<Platform>) async throws -> [GatewayCredential]
    /// Returns false when there is none.
    func delete(_ credential: Key<GatewayCredential>, of platform: Key<Platform>) async throws -> Bool

    /// The next devices that lost the app and whose tokens are still dead, in the order in which that was found. They are
    /// noted for platforms that have a gateway credential by then.
    func feedback(of platform: Key<Platform>, after: Feedback?, limit: Int) async throws -> [Feedback]
    func deleteFeedback(of platform: Key<Platform>, upTo last: Feedback) async throws
}
