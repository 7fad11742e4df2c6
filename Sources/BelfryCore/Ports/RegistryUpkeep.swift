/// Changes to existing applications and platforms.
package protocol RegistryUpkeep: Sendable {
    func rename(_ application: Key<Application>, to name: Name) async throws
    func replaceAPIKey(of application: Key<Application>, with hash: [UInt8]) async throws
    func replaceSharedSecret(of application: Key<Application>, with secret: Sealed) async throws

    func rename(_ platform: Key<Platform>, to name: Name) async throws
    /// Deletes the platform with its devices. Devices that a push has not answered yet are answered `skipped: missing`.
    /// Throws `StoreError.notEmpty` while it has active devices, unless `force` is set.
    func delete(_ platform: Key<Platform>, force: Bool) async throws
}
