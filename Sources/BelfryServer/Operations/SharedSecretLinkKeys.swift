import BelfryCore
import Crypto
import Foundation
import Synchronization

/// Signs links with the shared secrets of applications, each of which is opened once and again when it changes.
final class SharedSecretLinkKeys: LinkKeys {
    private let store: any ApplicationStore
    private let vault: any Vault
    private let opened = Mutex<[Sealed: SymmetricKey]>([:])

    /// Applications are few; when there are more than these, all are opened anew.
    private static let openedMax = 4_096

    init(store: any ApplicationStore, vault: any Vault) {
        self.store = store
        self.vault = vault
    }

    func signing(for application: Key<Application>) async throws -> @Sendable (_ text: String) -> String {
        guard let application = try await store.application(application) else {
            throw StoreError.unknown("application \(application)")
        }
        let key = try key(of: application)
        return { text in
            HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).withUnsafeBytes { Self.base64URL($0) }
        }
    }

    private func key(of application: Application) throws -> SymmetricKey {
        let sealed = application.sharedSecret
        if let held = opened.withLock({ $0[sealed] }) { return held }
        let key = SymmetricKey(
            data: try vault.open(sealed, for: VaultPurpose.sharedSecret(of: application.uuid)))
        opened.withLock { opened in
            if opened.count >= Self.openedMax { opened = [:] }
            opened[sealed] = key
        }
        return key
    }

    private static func base64URL(_ bytes: UnsafeRawBufferPointer) -> String {
        String(
            Data(bytes).base64EncodedString().compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
