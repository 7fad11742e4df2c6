package import FoundationEssentials

// Tenants and admin keys, for the commands on the server's own machine.

extension OperatorService {
    package func createTenant(name: Name) async throws -> Tenant {
        try await admin.createTenant(name: name, by: author)
    }

    package func tenants() async throws -> [Tenant] {
        try await all { try await store.tenants(after: $0?.key, limit: $1) }
    }

    package func createKey(
        name: Name, scope: AdminKey.Scope, tenant: UUID? = nil, application: UUID? = nil
    ) async throws -> CreatedKey {
        let bounds = try await bounds(tenant: tenant, application: application)
        return try await admin.createKey(name: name, scope: scope, bounds: bounds, by: author)
    }

    package func adminKeys() async throws -> [AdminKey] {
        try await all { try await store.adminKeys(within: .everything, after: $0?.key, limit: $1) }
    }

    /// Returns the new secret, and the end of the previous secret's grace where the rotation cuts that short.
    package func rotateKey(
        _ id: String, grace: Duration
    ) async throws -> (text: AdminKey.Text, graceEndedEarly: Instant?) {
        let key = try await adminKey(id)
        if let revokedAt = key.revokedAt { throw StoreError.conflict("\(key.id) was revoked at \(revokedAt.text)") }
        return (try await admin.rotate(key, grace: grace, by: author), admin.graceEndedEarly(key.previous?.validUntil))
    }

    /// Returns when the key was revoked before; nil when it was not.
    @discardableResult package func revokeKey(_ id: String) async throws -> Instant? {
        let key = try await adminKey(id)
        try await admin.revoke(key, by: author)
        return key.revokedAt
    }

    /// - Parameter text: the key's id, or the whole key, which no error repeats.
    private func adminKey(_ text: String) async throws -> AdminKey {
        let id = AdminKey.Text.id(in: text)
        guard let key = try await store.adminKey(id) else { throw StoreError.unknown("admin key \(id)") }
        return key
    }

    package func bounds(tenant: UUID?, application: UUID?) async throws -> AdminKey.Bounds {
        if let application {
            let application = try await self.application(application)
            return .application(application.key, of: application.tenantKey)
        }
        guard let tenant else { return .everything }
        guard let found = try await store.tenant(tenant) else {
            throw StoreError.unknown("tenant \(tenant.lowercased)")
        }
        return .tenant(found.key)
    }

    private func all<Thing>(_ next: (Thing?, Int) async throws -> [Thing]) async throws -> [Thing] {
        let stride = 200
        var things: [Thing] = []
        while true {
            let found = try await next(things.last, stride)
            things += found
            if found.count < stride { return things }
        }
    }
}

/// A new admin key, with its text, which is shown this once.
package struct CreatedKey: Sendable {
    package let key: AdminKey
    package let text: AdminKey.Text
}

extension AdminService {
    package func createKey(
        name: Name, scope: AdminKey.Scope, bounds: AdminKey.Bounds, by author: AuditAuthor
    ) async throws -> CreatedKey {
        let text = AdminKey.Text.random()
        let new = try NewAdminKey(
            id: text.id, name: name, scope: scope, bounds: bounds, secretHash: SecretHash.of(text.secret),
            author: author.person)
        let change = AuditedChange(
            by: author, "key.create", text.id, of: Permission.Subject(bounds),
            ["name": name.text, "scope": scope.rawValue])
        return CreatedKey(key: try await store.audited(change) { try await store.create(new) }, text: text)
    }

    /// - Parameter grace: how long the old secret is still accepted.
    package func rotate(_ key: AdminKey, grace: Duration, by author: AuditAuthor) async throws -> AdminKey.Text {
        let text = AdminKey.Text(id: key.id, secret: AdminKey.Text.random().secret)
        let graceEnd = grace > .zero ? clock.now + grace : nil
        let change = AuditedChange(
            by: author, "key.rotate", key.id, of: Permission.Subject(key.bounds),
            ["grace_seconds": String(grace.components.seconds)])
        try await store.audited(change) {
            try await store.rotate(key, to: SecretHash.of(text.secret), graceEnd: graceEnd)
        }
        return text
    }

    /// Revokes a key. Does nothing if it is revoked already.
    package func revoke(_ key: AdminKey, by author: AuditAuthor) async throws {
        guard key.revokedAt == nil else { return }
        let change = AuditedChange(
            by: author, "key.revoke", key.id, of: Permission.Subject(key.bounds), ["name": key.name])
        try await store.audited(change) { try await store.revoke(key.key) }
    }
}
