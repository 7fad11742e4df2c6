import BelfryCore
import Crypto
import Synchronization

/// The shared secrets of applications, opened once each and again when they change.
final class SharedSecrets: Sendable {
    private let vault: any Vault
    private let opened = Mutex<[Key<Application>: (sealed: Sealed, key: SymmetricKey)]>([:])

    /// Applications are few; beyond this number they are opened each time.
    private static let openedMax = 4_096

    init(vault: any Vault) { self.vault = vault }

    /// The key that signs the application's custom user ids.
    func key(of application: Application) throws -> SymmetricKey {
        let sealed = application.sharedSecret
        if let held = opened.withLock({ $0[application.key] }), held.sealed == sealed { return held.key }
        let key = SymmetricKey(data: try vault.open(sealed, for: VaultPurpose.sharedSecret(of: application.uuid)))
        opened.withLock { opened in
            if opened.count < Self.openedMax || opened[application.key] != nil {
                opened[application.key] = (sealed, key)
            }
        }
        return key
    }
}
