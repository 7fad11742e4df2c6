package import BelfryService
import Crypto
import FoundationEssentials

/// Signs links with the shared secrets of applications.
package struct SharedSecretLinkKeys: LinkKeys {
    private let store: any ApplicationStore
    private let secrets: SharedSecrets

    package init(store: any ApplicationStore, vault: any Vault, clock: any WallClock) {
        self.init(store: store, secrets: SharedSecrets(vault: vault, clock: clock))
    }

    init(store: any ApplicationStore, secrets: SharedSecrets) {
        self.store = store
        self.secrets = secrets
    }

    package func signing(for application: Key<BelfryService.Application>) async throws
        -> @Sendable (_ text: String) -> String
    {
        guard let application = try await store.application(application),
            let key = try secrets.keys(of: application).first
        else { throw StoreError.unknown("application \(application)") }
        return { text in
            Self.base64URL(Data(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)))
        }
    }

    private static func base64URL(_ bytes: Data) -> String {
        String(
            bytes.base64EncodedString().compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
