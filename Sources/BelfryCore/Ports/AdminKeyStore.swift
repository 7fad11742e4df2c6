/// The keys of the admin API. Revoked ones stay, so that the audit log can be read.
package protocol AdminKeyStore: Sendable {
    func create(_ key: NewAdminKey) async throws -> AdminKey
    func adminKey(_ id: String) async throws -> AdminKey?
    /// Keys bound to these bounds or to something within, in the order they were made, after `after`.
    func adminKeys(within bounds: AdminKey.Bounds, after: Key<AdminKey>?, limit: Int) async throws -> [AdminKey]
    /// Puts a new secret in the place of the old one, which is taken until `graceEnd`; nil ends it at once.
    func rotate(_ key: Key<AdminKey>, to secretHash: [UInt8], graceEnd: Instant?) async throws
    /// For good. Does nothing to a key that is revoked already.
    func revoke(_ key: Key<AdminKey>) async throws
    func noteUse(of key: Key<AdminKey>, at now: Instant) async throws
}
