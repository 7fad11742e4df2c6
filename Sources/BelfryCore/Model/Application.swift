package import FoundationEssentials

/// The owner of platforms and the sender of pushes, under which a team registers its devices.
package struct Application: Sendable, Hashable {
    package let key: Key<Application>
    package let uuid: UUID
    package let name: String
    /// SHA-256 of the API key. The key itself is shown once, when it is made.
    package let apiKeyHash: [UInt8]
    /// The same of the API keys that bindings of the service broker were given.
    package let bindingKeyHashes: [[UInt8]]
    /// The secret that signs custom user ids, sealed by the vault.
    package let sharedSecret: Sealed
    package let createdAt: Instant
    package let tenantKey: Key<Tenant>

    package init(
        key: Key<Application>, uuid: UUID, name: String, apiKeyHash: [UInt8], sharedSecret: Sealed, createdAt: Instant,
        tenantKey: Key<Tenant> = Tenant.first, bindingKeyHashes: [[UInt8]] = []
    ) {
        self.key = key
        self.uuid = uuid
        self.name = name
        self.apiKeyHash = apiKeyHash
        self.sharedSecret = sharedSecret
        self.createdAt = createdAt
        self.tenantKey = tenantKey
        self.bindingKeyHashes = bindingKeyHashes
    }
}

/// Bytes that only the vault can decrypt.
package struct Sealed: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
}
