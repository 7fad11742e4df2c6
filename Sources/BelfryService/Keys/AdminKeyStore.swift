/// The keys of the admin API. Revoked keys are kept, so that the audit log stays readable.
package protocol AdminKeyStore: Sendable {
    func create(_ key: NewAdminKey) async throws -> AdminKey
    func adminKey(_ id: String) async throws -> AdminKey?
    /// Keys within these bounds, in the order they were created, after `after`.
    func adminKeys(within bounds: AdminKey.Bounds, after: Key<AdminKey>?, limit: Int) async throws -> [AdminKey]
    /// Replaces the secret; the old one is accepted until `graceEnd`, and no longer when it is nil.
    func rotate(_ key: Key<AdminKey>, to secretHash: [UInt8], graceEnd: Instant?) async throws
    /// Revokes the key for good. Does nothing if it is revoked already.
    func revoke(_ key: Key<AdminKey>) async throws
    func noteUse(of key: Key<AdminKey>, at now: Instant) async throws
}
