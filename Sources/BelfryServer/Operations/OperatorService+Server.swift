package import BelfryProviders
package import BelfryService
import Foundation

extension OperatorService {
    /// The service for a server and its commands: with the providers' credentials, and the name of the system user.
    package init(store: any Store, dependencies: ProviderDependencies) {
        self.init(
            Services(
                store: store, vault: dependencies.vault, clock: dependencies.clock,
                credentials: CredentialsService(dependencies: dependencies), passwords: ScryptPasswords(),
                pushObserver: AcceptedPushCounter(), webhookPoster: WebhookCaller(dependencies.routes)),
            systemUser: SystemUser.name)
    }

    package func createPlatform(
        of application: BelfryService.Application, kind: PlatformKind, mode: Platform.Mode, name: String,
        credentials: (any PlatformCredentials)?
    ) async throws -> CreatedPlatform {
        try await createPlatform(
            of: application, kind: kind, mode: mode, name: name, credentials: credentials?.entered ?? [:])
    }

    package func replaceCredentials(of platform: Platform, with credentials: any PlatformCredentials) async throws {
        try await replaceCredentials(of: platform, with: credentials.entered)
    }
}

/// The user of this machine that the process runs as.
package enum SystemUser {
    /// The user id where the system has no name for it.
    package static var name: String { SystemAccount.knownName(of: getuid()) ?? String(getuid()) }
}
