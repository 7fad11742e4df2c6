package import BelfryService
package import FoundationEssentials

extension WrappedStore {
    package func edit(_ application: Key<Application>, _ edit: ApplicationEdit) async throws {
        try await base.edit(application, edit)
    }
    package func replaceAPIKey(
        of application: Key<Application>, with hash: [UInt8], graceEnd: Instant?
    ) async throws {
        try await base.replaceAPIKey(of: application, with: hash, graceEnd: graceEnd)
    }
    package func replaceSharedSecret(
        of application: Key<Application>, with secret: Sealed, graceEnd: Instant?
    ) async throws {
        try await base.replaceSharedSecret(of: application, with: secret, graceEnd: graceEnd)
    }
    package func edit(_ platform: Key<Platform>, _ edit: PlatformEdit) async throws {
        try await base.edit(platform, edit)
    }
    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        try await base.delete(platform, force: force)
    }

    package func sealedSecrets(
        _ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int
    ) async throws -> [SealedSecret] {
        try await base.sealedSecrets(kind, after: after, limit: limit)
    }
    package func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool {
        try await base.reseal(secret, as: seal)
    }

    package func receipts(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [Receipt] {
        try await base.receipts(of: application, before: before, limit: limit)
    }
    package func openReceipts(of application: Key<Application>, limit: Int) async throws -> [Receipt] {
        try await base.openReceipts(of: application, limit: limit)
    }
    package func pushes(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [PushHead] {
        try await base.pushes(of: application, before: before, limit: limit)
    }
    package func unmatchedNames(of push: Key<Push>) async throws -> UnresolvedTargets {
        try await base.unmatchedNames(of: push)
    }
    package func request(of push: Key<Push>) async throws -> PushRequest? { try await base.request(of: push) }
    package func contents<Value: Sendable>(
        of pushes: [Key<Push>], _ read: @escaping @Sendable (Push.Content) -> Value
    ) async throws -> [Key<Push>: Value] {
        try await base.contents(of: pushes, read)
    }
    package func answerCounts(of push: Key<Push>) async throws -> [Key<Platform>: [Answer: Int]] {
        try await base.answerCounts(of: push)
    }
    package func answerTimes(of push: Key<Push>) async throws -> AnswerTimes { try await base.answerTimes(of: push) }
    package func answers(
        in push: Key<Push>, kind: Answer.Kind, after: AnswerCursor?, limit: Int
    ) async throws -> AnswerPage {
        try await base.answers(in: push, kind: kind, after: after, limit: limit)
    }

    package func create(_ new: NewTenant) async throws -> Tenant { try await base.create(new) }
    package func tenants(after: Key<Tenant>?, limit: Int) async throws -> [Tenant] {
        try await base.tenants(after: after, limit: limit)
    }
    package func tenant(_ uuid: UUID) async throws -> Tenant? { try await base.tenant(uuid) }
    package func tenant(_ key: Key<Tenant>) async throws -> Tenant? { try await base.tenant(key) }
    package func rename(_ tenant: Key<Tenant>, to name: Name) async throws { try await base.rename(tenant, to: name) }
    package func delete(_ tenant: Key<Tenant>) async throws { try await base.delete(tenant) }

    package func create(_ new: NewAdminKey) async throws -> AdminKey { try await base.create(new) }
    package func adminKey(_ id: String) async throws -> AdminKey? { try await base.adminKey(id) }
    package func adminKeys(
        within bounds: AdminKey.Bounds, after: Key<AdminKey>?, limit: Int
    ) async throws -> [AdminKey] {
        try await base.adminKeys(within: bounds, after: after, limit: limit)
    }
    package func rotate(_ key: Key<AdminKey>, to secretHash: [UInt8], graceEnd: Instant?) async throws {
        try await base.rotate(key, to: secretHash, graceEnd: graceEnd)
    }
    package func revoke(_ key: Key<AdminKey>) async throws { try await base.revoke(key) }
    package func noteUse(of key: Key<AdminKey>, at now: Instant) async throws {
        try await base.noteUse(of: key, at: now)
    }

    package func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value {
        try await base.audited(change, work)
    }
    package func auditLog(_ query: AuditQuery) async throws -> [AuditEntry] { try await base.auditLog(query) }
}
