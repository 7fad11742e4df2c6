/// What is changed of applications and platforms once they are made.
package protocol RegistryUpkeep: Sendable {
    func rename(_ application: Key<Application>, to name: Name) async throws
    func replaceAPIKey(of application: Key<Application>, with hash: [UInt8]) async throws
    func replaceSharedSecret(of application: Key<Application>, with secret: Sealed) async throws

    func rename(_ platform: Key<Platform>, to name: Name) async throws
    /// Deletes the platform with its devices. Those that a push still waits for are answered `skipped: missing`.
    /// Throws `StoreError.notEmpty` while it has active devices, unless told `force`.
    func delete(_ platform: Key<Platform>, force: Bool) async throws
}
