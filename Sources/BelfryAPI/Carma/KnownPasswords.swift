import BelfryService
import Crypto
import Synchronization

/// Passwords that were found to be right, so that a client that sends its own with each request has it derived once.
///
/// What is remembered is a code under a key of this process, and never the password. A replaced password has another hash, and so
/// another code.
final class KnownPasswords: Sendable {
    private let passwords: any PasswordHashing
    private let key = SymmetricKey(size: .bits256)
    private let right = Mutex<Set<[UInt8]>>([])
    private let running = SingleFlight<[UInt8], [CarmaAccount]?>()

    /// Accounts are few; when there are more than these, all are derived anew.
    private static let rememberedMax = 1_024

    init(_ passwords: any PasswordHashing) { self.passwords = passwords }

    /// Whether the password was found to be right before.
    func isKnown(_ password: String, _ hash: String) -> Bool {
        let code = code(of: password, hash)
        return right.withLock { $0.contains(code) }
    }

    /// Checks the same password of the same account once for all requests that bring it at the same time.
    func once(
        _ password: String, _ hash: String, _ check: () async throws -> [CarmaAccount]?
    ) async throws -> [CarmaAccount]? {
        try await running.value(for: code(of: password, hash), check)
    }

    /// - Parameter hash: nil for a user that does not exist, which takes as long.
    func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        if let hash, isKnown(password, hash) { return true }
        guard try await passwords.matches(password, hash, for: caller), let hash else { return false }
        let code = code(of: password, hash)
        right.withLock { right in
            if right.count >= Self.rememberedMax { right = [] }
            right.insert(code)
        }
        return true
    }

    private func code(of password: String, _ hash: String) -> [UInt8] {
        let text = Array("\(hash.utf8.count) \(hash) \(password)".utf8)
        return Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
    }
}
