package import FoundationEssentials

/// Creates, changes and deletes tenants, admin keys, applications and what they contain, for every API and command.
/// Each change leaves its line in the audit log.
///
/// A new secret is returned once; only its hash is stored, or its seal where it must be read again.
package struct AdminService: Sendable {
    let store: any Store
    let vault: any Vault
    let credentials: any ProviderCredentials
    /// Hashes the passwords of Carma's accounts.
    let passwords: any PasswordHashing
    let clock: any WallClock
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
    /// - Parameter identity: the identity at another server; missing parts are made.
    package func createApplication(
        uuid: UUID = UUID(), name: Name, description: Description? = nil, identity: ApplicationIdentity? = nil,
        of tenant: Key<Tenant> = Tenant.first, by author: AuditAuthor
    ) async throws -> CreatedApplication {
        let (uuid, apiKey) = (identity?.uuid ?? uuid, identity?.apiKey?.text ?? UUID().lowercased)
        let secret = try identity?.sharedSecret.map { try sealed($0, of: uuid) } ?? makeSharedSecret(of: uuid)
        let new = NewApplication(
            uuid: uuid, name: name.text, apiKeyHash: SecretHash.of(apiKey), sharedSecret: secret.sealed,
            tenantKey: tenant,
            description: description?.text ?? "")
        let change = AuditedChange(
            by: author, "app.create", uuid.lowercased, of: .tenant(tenant), ["name": name.text])
        let application = try await store.audited(change) { try await store.create(new) }
        return CreatedApplication(application: application, apiKey: apiKey, sharedSecret: secret.text)
    }

    package func edit(_ application: Application, _ edit: ApplicationEdit, by author: AuditAuthor) async throws {
        var details: [String: String] = [:]
        details["name"] = edit.name?.text
        details["description"] = edit.description?.text
        details["ignores_unknown_fields"] = edit.ignoresUnknownFields.map { String($0) }
        switch edit.quietHours {
        case .keep: break
        case .clear: details["quiet_hours"] = ""
        case .set(let quiet): details["quiet_hours"] = quiet.words
        }
        details["caps"] = edit.caps.map { $0.map(\.words).joined(separator: " ") }
        details["campaign_approval"] = edit.approvesCampaigns.map { String($0) }
        details["web_push_endpoints"] = edit.webPush?.rawValue
        details["encrypted_only"] = edit.takesEncryptedOnly.map { String($0) }
        details["encrypted_alert"] = edit.encryptedAlert
        let change = AuditedChange(by: author, "app.edit", application, details)
        try await store.audited(change) { try await store.edit(application.key, edit) }
    }

    package func delete(_ application: Application, force: Bool, by author: AuditAuthor) async throws {
        let details = ["name": application.name, "force": String(force)]
        let change = AuditedChange(by: author, "app.delete", application, details)
        try await store.audited(change) { try await store.delete(application.key, force: force) }
    }

    /// - Parameter grace: the time in which the old key is accepted too.
    package func replaceAPIKey(
        of application: Application, grace: Duration, by author: AuditAuthor
    ) async throws -> String {
        let apiKey = UUID().lowercased
        let change = AuditedChange(by: author, "app.replace_api_key", application, grace.details)
        try await store.audited(change) {
            try await store.replaceAPIKey(of: application, with: SecretHash.of(apiKey), graceEnd: graceEnd(grace))
        }
        return apiKey
    }

    /// - Parameter grace: the time in which custom user ids signed with the old secret are accepted too.
    package func replaceSharedSecret(
        of application: Application, grace: Duration, by author: AuditAuthor
    ) async throws -> String {
        let secret = try makeSharedSecret(of: application.uuid)
        let change = AuditedChange(by: author, "app.replace_shared_secret", application, grace.details)
        try await store.audited(change) {
            try await store.replaceSharedSecret(of: application, with: secret.sealed, graceEnd: graceEnd(grace))
        }
        return secret.text
    }

    /// The 32 bytes that sign what the application's users and devices show.
    package func sharedSecret(of application: Application) throws -> [UInt8] {
        try vault.open(application.sharedSecret, for: VaultPurpose.sharedSecret(of: application.uuid))
    }

    private static let lettersAndDigits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// The end of an earlier rotation's grace, where a new rotation cuts it short; nil otherwise.
    ///
    /// - Parameter end: the end of the earlier rotation's grace.
    package func graceEndedEarly(_ end: Instant?) -> Instant? { end.flatMap { $0 > clock.now ? $0 : nil } }

    private func graceEnd(_ grace: Duration) -> Instant? { grace > .zero ? clock.now + grace : nil }

    /// Makes a secret of 32 letters and digits, shown as hex. The published helper that signs custom user ids on Android cannot
    /// read bytes above 0x7f from the hex, so a secret has none. Source: the PCF samples, docs/compatibility/pcf.md.
    private func makeSharedSecret(of application: UUID) throws -> (text: String, sealed: Sealed) {
        var random = SystemRandomNumberGenerator()
        let secret = (0..<32).compactMap { _ in Self.lettersAndDigits.randomElement(using: &random) }
        return try sealed(secret, of: application)
    }

    private func sealed(_ secret: [UInt8], of application: UUID) throws -> (text: String, sealed: Sealed) {
        (secret.hex, try vault.seal(secret, for: VaultPurpose.sharedSecret(of: application)))
    }
}

extension Duration {
    fileprivate var details: [String: String] { ["grace_seconds": String(components.seconds)] }
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

/// A new application, with its secrets, which are shown this once.
package struct CreatedApplication: Sendable {
    package let application: Application
    package let apiKey: String
    /// 64 hex digits. Source: PCF Push dashboard, "Configuration", shared secret.
    package let sharedSecret: String
}

/// A new platform, with its secret, which is shown this once.
package struct CreatedPlatform: Sendable {
    package let platform: Platform
    /// The secret that its devices authenticate with.
    package let secret: String
}
