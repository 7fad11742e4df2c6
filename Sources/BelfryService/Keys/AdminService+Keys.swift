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
            id: text.id, name: name, scope: scope, bounds: bounds, secretHash: hash(text.secret),
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
            try await store.rotate(key.key, to: hash(text.secret), graceEnd: graceEnd)
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
