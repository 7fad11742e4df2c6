package import BelfryCore
package import BelfryProviders
import Crypto
package import Foundation

/// What an operator does: makes applications and platforms, mends them, sends, and looks.
///
/// It works on the store, so it works beside a running server; the server sees the change within a moment.
package struct Administration: Sendable {
    package let store: any Store
    package let vault: any Vault
    private let clock: any WallClock

    package init(store: any Store, vault: any Vault, clock: any WallClock) {
        self.store = store
        self.vault = vault
        self.clock = clock
    }

    /// An application with the secrets that are shown once.
    package struct CreatedApplication: Sendable {
        package let application: BelfryCore.Application
        package let apiKey: String
        /// 64 hex digits. Source: PCF Push dashboard, "Configuration", shared secret.
        package let sharedSecret: String
    }

    package func createApplication(name: String) async throws -> CreatedApplication {
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw InvalidInput(field: "name", "has to be 1 to 255 bytes, it is \(name.utf8.count)")
        }
        let uuid = UUID()
        let apiKey = UUID().lowercased
        let sharedSecret = SymmetricKey(size: .bits256).bytes
        let application = try await store.create(
            NewApplication(
                uuid: uuid, name: name, apiKeyHash: SecretHash.of(apiKey),
                sharedSecret: try vault.seal(sharedSecret, for: VaultPurpose.sharedSecret(of: uuid))))
        return CreatedApplication(application: application, apiKey: apiKey, sharedSecret: sharedSecret.hex)
    }

    /// A platform with the secret that is shown once.
    package struct CreatedPlatform: Sendable {
        package let platform: Platform
        package let secret: String
    }

    /// Checks the credentials and keeps them sealed. Throws `InvalidInput` with the reason when they cannot be used.
    package func createPlatform(
        of application: BelfryCore.Application, kind: PlatformKind, mode: Platform.Mode, name: String,
        credentials: APNsPlatformCredentials
    ) async throws -> CreatedPlatform {
        guard kind == .ios else {
            throw InvalidInput(field: "type", "is \(kind.rawValue), this version delivers to ios")
        }
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw InvalidInput(field: "name", "has to be 1 to 255 bytes, it is \(name.utf8.count)")
        }
        try credentials.check(mode: mode, now: clock.now)
        let uuid = UUID()
        let secret = UUID().lowercased
        let platform = try await store.create(
            NewPlatform(
                uuid: uuid, applicationKey: application.key, kind: kind, mode: mode, name: name,
                secretHash: SecretHash.of(secret), credentials: try credentials.sealed(by: vault, platform: uuid)))
        return CreatedPlatform(platform: platform, secret: secret)
    }

    /// Puts new credentials in the place of old ones; pages that waited for them go on.
    package func replaceCredentials(of platform: Platform, with credentials: APNsPlatformCredentials) async throws {
        try credentials.check(mode: platform.mode, now: clock.now)
        let sealed = try credentials.sealed(by: vault, platform: platform.uuid)
        try await store.replaceCredentials(of: platform.key, with: sealed)
    }

    package func application(_ uuid: UUID) async throws -> BelfryCore.Application {
        guard let application = try await store.application(uuid) else {
            throw StoreError.unknown("application \(uuid.lowercased)")
        }
        return application
    }

    package func platform(_ uuid: UUID) async throws -> Platform {
        guard let platform = try await store.platform(uuid) else {
            throw StoreError.unknown("platform \(uuid.lowercased)")
        }
        return platform
    }

    /// Sends to a topic, or to everyone when none is named.
    package func push(_ body: String, to topics: [String], of application: BelfryCore.Application) async throws -> Push
    {
        let target = try Target(topics: topics)
        return try await PushDesk(store: store).send(
            Order(content: Push.Content(body: body), target: target), for: application.key)
    }
}

/// How API keys and platform secrets rest. They are random, so a fast hash does.
package enum SecretHash {
    package static func of(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }
}
