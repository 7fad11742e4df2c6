package import FoundationEssentials

/// Creates, changes and deletes tenants, admin keys, applications and what they contain, for every API and command.
/// Each change leaves its line in the audit log.
///
/// A new secret is returned once; only its hash is stored, or its seal where it must be read again.
package struct AdminService: Sendable {
    package typealias Stores = ApplicationStore & RegistryUpkeep & TenantStore & AdminKeyStore & DeviceStore
        & DirectoryStore & TopicStore & LocationStore & GeofenceStore & DamageStore & AuditStore

    let store: any Stores
    let vault: any Vault
    let credentials: any ProviderCredentials
    /// SHA-256. Secrets are random, so a fast hash is enough.
    let hash: @Sendable (String) -> [UInt8]
    let clock: any WallClock

    package init(
        store: any Stores, vault: any Vault, credentials: any ProviderCredentials,
        hash: @escaping @Sendable (String) -> [UInt8], clock: any WallClock
    ) {
        self.store = store
        self.vault = vault
        self.credentials = credentials
        self.hash = hash
        self.clock = clock
    }
}

// MARK: - Tenants

extension AdminService {
    package func createTenant(uuid: UUID = UUID(), name: Name, by author: AuditAuthor) async throws -> Tenant {
        let tenant = NewTenant(uuid: uuid, name: name)
        let change = AuditedChange(
            by: author, "tenant.create", tenant.uuid.lowercased, of: .everything, ["name": name.text])
        return try await store.audited(change) { try await store.create(tenant) }
    }

    package func rename(_ tenant: Tenant, to name: Name, by author: AuditAuthor) async throws {
        let change = AuditedChange(
            by: author, "tenant.rename", tenant.uuid.lowercased, of: .tenant(tenant.key), ["name": name.text])
        try await store.audited(change) { try await store.rename(tenant.key, to: name) }
    }

    package func delete(_ tenant: Tenant, by author: AuditAuthor) async throws {
        let change = AuditedChange(
            by: author, "tenant.delete", tenant.uuid.lowercased, of: .tenant(tenant.key), ["name": tenant.name])
        try await store.audited(change) { try await store.delete(tenant.key) }
    }
}

// MARK: - Applications

extension AdminService {
    package func createApplication(
        uuid: UUID = UUID(), name: Name, of tenant: Key<Tenant> = Tenant.first, by author: AuditAuthor
    ) async throws -> CreatedApplication {
        let apiKey = UUID().lowercased
        let secret = try makeSharedSecret(of: uuid)
        let new = NewApplication(
            uuid: uuid, name: name.text, apiKeyHash: hash(apiKey), sharedSecret: secret.sealed, tenantKey: tenant)
        let change = AuditedChange(
            by: author, "app.create", uuid.lowercased, of: .tenant(tenant), ["name": name.text])
        let application = try await store.audited(change) { try await store.create(new) }
        return CreatedApplication(application: application, apiKey: apiKey, sharedSecret: secret.text)
    }

    package func rename(_ application: Application, to name: Name, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "app.rename", application, ["name": name.text])
        try await store.audited(change) { try await store.rename(application.key, to: name) }
    }

    package func delete(_ application: Application, force: Bool, by author: AuditAuthor) async throws {
        let details = ["name": application.name, "force": String(force)]
        let change = AuditedChange(by: author, "app.delete", application, details)
        try await store.audited(change) { try await store.delete(application.key, force: force) }
    }

    /// The old key is refused from then on.
    package func replaceAPIKey(of application: Application, by author: AuditAuthor) async throws -> String {
        let apiKey = UUID().lowercased
        try await store.audited(AuditedChange(by: author, "app.replace_api_key", application)) {
            try await store.replaceAPIKey(of: application.key, with: hash(apiKey))
        }
        return apiKey
    }

    /// Custom user ids signed with the old secret are refused from then on.
    package func replaceSharedSecret(of application: Application, by author: AuditAuthor) async throws -> String {
        let secret = try makeSharedSecret(of: application.uuid)
        try await store.audited(AuditedChange(by: author, "app.replace_shared_secret", application)) {
            try await store.replaceSharedSecret(of: application.key, with: secret.sealed)
        }
        return secret.text
    }

    private static let lettersAndDigits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// 32 letters and digits, shown as hex. The published helper that signs custom user ids on Android cannot read
    /// bytes above 0x7f from the hex, so a secret has none. Source: the PCF samples, docs/compatibility/pcf.md.
    private func makeSharedSecret(of application: UUID) throws -> (text: String, sealed: Sealed) {
        var random = SystemRandomNumberGenerator()
        let secret = (0..<32).compactMap { _ in Self.lettersAndDigits.randomElement(using: &random) }
        return (secret.hex, try vault.seal(secret, for: VaultPurpose.sharedSecret(of: application)))
    }
}

// MARK: - Pushes

extension AdminService {
    /// Writes off the unreadable rows of a push, so that it settles.
    package func writeOffDamage(
        of receipt: Receipt, of application: Application, by author: AuditAuthor
    ) async throws -> WriteOff {
        let details = [
            "receipt_id": receipt.push.receiptID.lowercased, "batches": String(receipt.damagedBatches),
            "fan_outs": String(receipt.damagedFanOuts),
        ]
        return try await store.audited(AuditedChange(by: author, "push.write_off", application, details)) {
            try await store.writeOffDamage(of: receipt.push.key)
        }
    }
}
