import BelfryAPI
package import BelfryService
import Crypto
import CryptoExtras
import HTTPTypes
import NIOPosix

#if canImport(Glibc)
import Glibc
#endif

/// Derives keys from passwords by scrypt, on a thread of its own, one at a time: each takes 32 MiB and a quarter of a second.
///
/// Whose turn it is `DerivationTurns` decides. The stored form is `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in hex.
/// Source: RFC 7914.
package final class ScryptPasswords: PasswordHashing {
    /// The cost of one derivation.
    package struct Cost: Sendable {
        let logN: Int
        let r: Int
        let p: Int

        /// Source: OWASP Password Storage Cheat Sheet, scrypt: N=2^15 (32 MiB), r=8, p=3.
        package static let standard = Cost(logN: 15, r: 8, p: 3)
        /// The cost for tests, which log in often.
        package static let cheap = Cost(logN: 4, r: 8, p: 1)
    }

    /// Callers that have a thread and a queue of their own, so that those of one never wait for those of the other.
    package enum Purpose: Sendable {
        case people, carma

        fileprivate var threads: NIOThreadPool {
            switch self {
            case .people: ScryptPasswords.peoplesThread
            case .carma: ScryptPasswords.carmasThread
            }
        }
    }

    private let cost: Cost
    private let purpose: Purpose
    private let queue: FairQueue<DerivationTurns>
    /// A hash for persons who do not exist, so that their logins take as long.
    private let nobody: String

    package init(cost: Cost = .standard, purpose: Purpose = .people, limits: DerivationTurns.Limits = .init()) {
        self.cost = cost
        self.purpose = purpose
        queue = FairQueue(DerivationTurns(limits: limits))
        nobody = Stored(cost: cost, salt: [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 32)).text
    }

    package func hash(_ password: Password, for caller: DerivationCaller) async throws -> String {
        var random = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let key = try await derive(password.text, salt, cost, caller)
        return Stored(cost: cost, salt: salt, key: key).text
    }

    package func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        guard let stored = Stored(hash ?? nobody) else { return false }
        let key = try await derive(password, stored.salt, stored.cost, caller)
        let isEqual = zip(key, stored.key).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 && key.count == stored.key.count
        return hash != nil && isEqual
    }

    private func derive(
        _ password: String, _ salt: [UInt8], _ cost: Cost, _ caller: DerivationCaller
    ) async throws -> [UInt8] {
        do {
            return try await queue.run(for: caller) {
                try await purpose.threads.runIfActive { try Self.derive(password, salt, cost) }
            }
        } catch is TurnShareExceeded {
            throw APIError(
                .tooManyRequests, "Other passwords of this address or account are being checked; try again in a moment",
                headers: [.retryAfter: "2"])
        } catch StoreError.overloaded {
            throw APIError(
                .serviceUnavailable, "Many people log in at once; try again in a moment", headers: [.retryAfter: "2"])
        }
    }

    private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: salt, outputByteCount: 32, rounds: 1 << cost.logN, blockSize: cost.r,
            parallelism: cost.p, maxMemory: 256 << 20)
        return key.withUnsafeBytes { Array($0) }
    }

    private static let peoplesThread = thread()
    private static let carmasThread = thread()

    private static func thread() -> NIOThreadPool {
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        // Event loops go first where cores are few. Source: setpriority(2), which acts on the calling thread on Linux.
        threads.submit { _ in _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 4) }
        return threads
    }

    private struct Stored {
        let cost: Cost
        let salt: [UInt8]
        let key: [UInt8]

        init(cost: Cost, salt: [UInt8], key: [UInt8]) {
            (self.cost, self.salt, self.key) = (cost, salt, key)
        }

        /// The most work, eight times the standard cost: two seconds. The stored hash says how long a login works.
        private static let workMax = 8 * (1 << 15) * 8 * 3

        init?(_ text: String) {
            let parts = text.split(separator: "$")
            guard parts.count == 6, parts[0] == "scrypt", let logN = Int(parts[1]), let r = Int(parts[2]),
                let p = Int(parts[3]), (1...20).contains(logN), (1...16).contains(r), (1...16).contains(p),
                (1 << logN) * r * p <= Self.workMax,
                let salt = [UInt8](hex: parts[4].utf8), let key = [UInt8](hex: parts[5].utf8)
            else { return nil }
            self.init(cost: Cost(logN: logN, r: r, p: p), salt: salt, key: key)
        }

        var text: String { "scrypt$\(cost.logN)$\(cost.r)$\(cost.p)$\(salt.hex)$\(key.hex)" }
    }
}
