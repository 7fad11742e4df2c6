package import BelfryAPI
package import BelfryCore
package import BelfryProviders
package import Foundation

/// What an operator does: makes applications and platforms, mends them, sends, and looks.
///
/// It works on the store, so it works beside a running server; the server sees the change within a moment.
package struct Administration: Sendable {
    package let store: any Store
    package let vault: any Vault
    package let office: Office
    let clock: any WallClock

    package init(store: any Store, means: ProviderMeans) {
        self.store = store
        vault = means.vault
        clock = means.clock
        office = Office(store: store, vault: vault, credentials: CredentialsIntake(means: means))
    }

    package typealias CreatedApplication = BelfryCore.CreatedApplication
    package typealias CreatedPlatform = BelfryCore.CreatedPlatform

    package func createApplication(name: String) async throws -> CreatedApplication {
        try await office.createApplication(name: try Name(name))
    }

    package func createPlatform(
        of application: BelfryCore.Application, kind: PlatformKind, mode: Platform.Mode, name: String,
        credentials: (any PlatformCredentials)?
    ) async throws -> CreatedPlatform {
        try await office.createPlatform(
            of: application, kind: kind, mode: mode, name: try Name(name), credentials: credentials?.entered ?? [:],
            by: .operator)
    }

    package func replaceCredentials(of platform: Platform, with credentials: any PlatformCredentials) async throws {
        try await office.replaceCredentials(of: platform, with: credentials.entered, by: .operator)
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
}
