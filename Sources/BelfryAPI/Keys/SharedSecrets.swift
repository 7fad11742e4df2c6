import BelfryService
import Crypto
import Synchronization

/// The shared secrets of applications, opened once each and again when they change.
final class SharedSecrets: Sendable {
    private let vault: any Vault
    private let clock: any WallClock
    private let opened = Mutex<[Sealed: SymmetricKey]>([:])

    /// Applications are few; when there are more than these, all are opened anew.
    private static let openedMax = 4_096

    init(vault: any Vault, clock: any WallClock) {
        self.vault = vault
        self.clock = clock
    }

    /// The keys that may sign the application's custom user ids: its own, and the one before while that is taken too.
    func keys(of application: Application) throws -> [SymmetricKey] {
        let seals = [application.sharedSecret, application.previousSharedSecret?.valid(at: clock.now)]
        return try seals.compactMap(\.self).map { try key($0, VaultPurpose.sharedSecret(of: application.uuid)) }
    }

    private func key(_ sealed: Sealed, _ purpose: String) throws -> SymmetricKey {
        if let held = opened.withLock({ $0[sealed] }) { return held }
        let key = SymmetricKey(data: try vault.open(sealed, for: purpose))
        opened.withLock { opened in
            if opened.count >= Self.openedMax { opened = [:] }
            opened[sealed] = key
        }
        return key
    }
}
