/// Changes to existing applications and platforms.
package protocol ApplicationAdminStore: Sendable {
    func edit(_ application: Key<Application>, _ edit: ApplicationEdit) async throws
    /// - Parameter graceEnd: the end of the time in which the old key is accepted too; nil refuses it at once.
    func replaceAPIKey(of application: Key<Application>, with hash: [UInt8], graceEnd: Instant?) async throws
    /// - Parameter graceEnd: the end of the time in which the old secret is accepted too; nil refuses it at once.
    func replaceSharedSecret(of application: Key<Application>, with secret: Sealed, graceEnd: Instant?) async throws

    /// Changes a platform. A changed mode makes the provider's client anew, and resumes a platform that was parked for its credentials.
    func edit(_ platform: Key<Platform>, _ edit: PlatformEdit) async throws
    /// Deletes the platform with its devices. Devices that a push has not answered yet are answered `skipped: missing`.
    /// Throws `StoreError.conflict` while it has active devices, unless `force` is set.
    func delete(_ platform: Key<Platform>, force: Bool) async throws
}
