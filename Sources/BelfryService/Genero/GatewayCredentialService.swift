/// Creates and deletes the client certificates of senders at the binary gateway. Each change leaves a line in the audit log.
package struct GatewayCredentialService: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    /// - Parameter platform: of a type whose tokens fit Apple's binary protocol.
    package func create(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Platform, of application: Application,
        by author: AuditAuthor
    ) async throws -> GatewayCredential {
        guard platform.kind == .ios || platform.kind == .apple(.voip) else {
            throw InvalidInput(
                field: "platform_uuid", "is of type \(platform.kind.rawValue), the gateway takes ios and ios-voip")
        }
        let change = AuditedChange(
            by: author, "gateway_credential.create", platform, of: application, ["fingerprint": fingerprint.hex])
        return try await store.audited(change) {
            try await store.createGatewayCredential(fingerprint, expiresAt: expiresAt, on: platform.key)
        }
    }

    package func delete(
        _ credential: Key<GatewayCredential>, on platform: Platform, of application: Application,
        by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "gateway_credential.delete", platform, of: application, ["credential": "\(credential)"])
        try await store.audited(change) {
            guard try await store.delete(credential, of: platform.key) else {
                throw StoreError.unknown("such gateway credential")
            }
        }
    }
}
