package import BelfryCore
import Crypto
package import FoundationEssentials

/// Makes what has secrets, and new secrets for what is made: applications, platforms, admin keys.
///
/// Each secret is returned once; what is kept is its hash, or its seal where it must be read again.
package struct Office: Sendable {
    private let store: any ApplicationStore & RegistryUpkeep & AdminKeyStore & DirectoryStore
    private let vault: any Vault
    private let credentials: any ProviderCredentials

    package init(
        store: any ApplicationStore & RegistryUpkeep & AdminKeyStore & DirectoryStore, vault: any Vault,
        credentials: any ProviderCredentials
    ) {
        self.store = store
        self.vault = vault
        self.credentials = credentials
    }

    package func createApplication(
        _ uuid: UUID = UUID(), name: Name, of tenant: Key<Tenant> = Tenant.first
    ) async throws -> CreatedApplication {
        let apiKey = UUID().lowercased
        let secret = try sharedSecret(of: uuid)
        let application = try await store.create(
            NewApplication(
                uuid: uuid, name: name.text, apiKeyHash: SecretHash.of(apiKey), sharedSecret: secret.sealed,
                tenantKey: tenant))
        return CreatedApplication(application: application, apiKey: apiKey, sharedSecret: secret.text)
    }

    /// The old key is refused from now on.
    package func replaceAPIKey(of application: BelfryCore.Application) async throws -> String {
        let apiKey = UUID().lowercased
        try await store.replaceAPIKey(of: application.key, with: SecretHash.of(apiKey))
        return apiKey
    }

    /// Custom user ids signed with the old secret are refused from now on.
    package func replaceSharedSecret(of application: BelfryCore.Application) async throws -> String {
        let secret = try sharedSecret(of: application.uuid)
        try await store.replaceSharedSecret(of: application.key, with: secret.sealed)
        return secret.text
    }

    /// Checks the credentials and keeps them sealed. Throws `InvalidInput` with the reason when they cannot be used.
    ///
    /// A platform of a kind that nobody here delivers to takes none. Its devices register and its pushes are accepted; it
    /// is parked, and its pages wait.
    package func createPlatform(
        _ uuid: UUID = UUID(), of application: BelfryCore.Application, kind: PlatformKind, mode: Platform.Mode,
        name: Name, credentials entered: [String: JSONValue], by author: CredentialsAuthor
    ) async throws -> CreatedPlatform {
        let sealed = try credentials.sealed(entered, kind: kind, mode: mode, platform: uuid, by: author)
        let secret = UUID().lowercased
        let platform = try await store.create(
            NewPlatform(
                uuid: uuid, applicationKey: application.key, kind: kind, mode: mode, name: name.text,
                secretHash: SecretHash.of(secret), credentials: sealed))
        guard let parking = credentials.parking(of: kind) else {
            return CreatedPlatform(platform: platform, secret: secret)
        }
        try await store.park(platform.key, parking)
        return CreatedPlatform(platform: try await store.platform(platform.key) ?? platform, secret: secret)
    }

    /// Puts new credentials in the place of old ones; pages that waited for them go on.
    package func replaceCredentials(
        of platform: Platform, with entered: [String: JSONValue], by author: CredentialsAuthor
    ) async throws {
        if let parking = credentials.parking(of: platform.kind) {
            throw InvalidInput(field: "credentials", "are not taken: \(parking.detail)")
        }
        let sealed = try credentials.sealed(
            entered, kind: platform.kind, mode: platform.mode, platform: platform.uuid, by: author)
        try await store.replaceCredentials(of: platform.key, with: sealed)
    }

    /// The public part of the platform's credentials; nothing when they cannot be opened.
    package func published(of platform: Platform) -> [String: String] {
        (try? credentials.published(of: platform)) ?? [:]
    }

    /// Connects to the provider and asks whether it takes the platform's credentials; no device is told anything.
    package func testCredentials(of platform: Platform) async throws -> CredentialsTest {
        let devices = try await store.devices(DeviceSearch(platforms: [platform.key]), after: nil, limit: 20)
        return await credentials.test(platform, devices: devices.filter(\.isActive).compactMap(\.token))
    }

    /// The broadcast channels of platforms whose provider has such.
    package var channels: any BroadcastChannels { credentials.channels }

    /// When the provider will take a platform's credentials no more; nil where they do not say, or cannot be read.
    package func credentialsExpiry(of platform: Platform) -> Instant? { try? credentials.expiry(of: platform) }

    package struct CreatedKey: Sendable {
        package let key: AdminKey
        package let text: Admin.KeyText
    }

    package func createKey(
        _ text: Admin.KeyText = .random(), name: Name, scope: AdminKey.Scope, bounds: AdminKey.Bounds
    ) async throws -> CreatedKey {
        let key = try await store.create(
            NewAdminKey(id: text.id, name: name, scope: scope, bounds: bounds, secretHash: text.secretHash))
        return CreatedKey(key: key, text: text)
    }

    /// - Parameter graceEnd: until then the old secret is taken too; nil refuses it at once.
    package func rotate(_ key: AdminKey, graceEnd: Instant?) async throws -> Admin.KeyText {
        let text = Admin.KeyText(id: key.id, secret: Admin.KeyText.random().secret)
        try await store.rotate(key.key, to: text.secretHash, graceEnd: graceEnd)
        return text
    }

    private func sharedSecret(of application: UUID) throws -> (text: String, sealed: Sealed) {
        let secret = SymmetricKey(size: .bits256).bytes
        return (secret.hex, try vault.seal(secret, for: VaultPurpose.sharedSecret(of: application)))
    }
}
