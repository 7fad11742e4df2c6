import BelfryAPI
package import BelfryCore
import Crypto
import CryptoExtras
import HTTPTypes
import NIOPosix
import Synchronization

/// Derives keys from passwords by scrypt, on threads of its own, a few at a time: each takes 32 MiB and a quarter of a second.
///
/// The stored form is `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in hex. Source: RFC 7914.
package final class ScryptPasswords: PasswordHashing {
    /// What one derivation costs.
    package struct Cost: Sendable {
        let logN: Int
        let r: Int
        let p: Int

        /// Source: OWASP Password Storage Cheat Sheet, scrypt: N=2^15 (32 MiB), r=8, p=3.
        package static let standard = Cost(logN: 15, r: 8, p: 3)
        /// For tests, which log in often.
        package static let cheap = Cost(logN: 4, r: 8, p: 1)
    }

    private let cost: Cost
    /// Derivations that run or wait.
    private let waiting = Mutex(0)
    private static let waitingMax = 8
    /// For persons who do not exist, so that they take as long.
    private let nobody: String

    package init(cost: Cost = .standard) {
        self.cost = cost
        nobody = Stored(cost: cost, salt: [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 32)).text
    }

    package func hash(_ password: Password) async throws -> String {
        var random = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let key = try await derive(password.text, salt, cost)
        return Stored(cost: cost, salt: salt, key: key).text
    }

    package func matches(_ password: String, _ hash: String?) async throws -> Bool {
        guard let stored = Stored(hash ?? nobody) else { return false }
        let key = try await derive(password, stored.salt, stored.cost)
        let isEqual = zip(key, stored.key).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 && key.count == stored.key.count
        return hash != nil && isEqual
    }

    private func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) async throws -> [UInt8] {
        let isAdmitted = waiting.withLock { waiting in
            guard waiting < Self.waitingMax else { return false }
            waiting += 1
            return true
        }
        guard isAdmitted else {
            throw APIError(
                .serviceUnavailable, "Many people log in at once; try again in a moment", headers: [.retryAfter: "2"])
        }
        defer { waiting.withLock { $0 -= 1 } }
        return try await Self.threads.runIfActive {
            let key = try KDF.Scrypt.deriveKey(
                from: Array(password.utf8), salt: salt, outputByteCount: 32, rounds: 1 << cost.logN, blockSize: cost.r,
                parallelism: cost.p, maxMemory: 256 << 20)
            return key.withUnsafeBytes { Array($0) }
        }
    }

    private static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        return threads
    }()

    private struct Stored {
        let cost: Cost
        let salt: [UInt8]
        let key: [UInt8]

        init(cost: Cost, salt: [UInt8], key: [UInt8]) {
            (self.cost, self.salt, self.key) = (cost, salt, key)
        }

        init?(_ text: String) {
            let parts = text.split(separator: "$")
            guard parts.count == 6, parts[0] == "scrypt", let logN = Int(parts[1]), let r = Int(parts[2]),
                let p = Int(parts[3]), (1...20).contains(logN), (1...16).contains(r), (1...16).contains(p),
                let salt = [UInt8](hex: parts[4].utf8), let key = [UInt8](hex: parts[5].utf8)
            else { return nil }
            self.init(cost: Cost(logN: logN, r: r, p: p), salt: salt, key: key)
        }

        var text: String { "scrypt$\(cost.logN)$\(cost.r)$\(cost.p)$\(salt.hex)$\(key.hex)" }
    }
}
