import Crypto
import CryptoExtras
import Foundation
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

/// A file of passwords that are known to have leaked: their SHA-1 in hex, a line each, with or without `:` and a count behind it,
/// or the passwords themselves.
///
/// Nothing of it is kept in memory. A long file of hashes has to be sorted, as the published ones are; it is searched by halves.
/// Source of the form: Have I Been Pwned, "Pwned Passwords", ordered by hash.
package struct LeakedPasswords: Sendable {
    private let path: String
    private let isHashed: Bool
    private let bytes: UInt64
    private let unsortedBytesMax: UInt64

    /// A shorter file of hashes is read whole, so it need not be sorted.
    package static let unsortedBytesMax: UInt64 = 64 << 20
    /// A list of passwords is read whole each time.
    package static let plainBytesMax: UInt64 = 256 << 20
    private static let hexDigits = 40

    /// Throws `InvalidInput` when the file cannot be used.
    package init(path: String, unsortedBytesMax: UInt64 = Self.unsortedBytesMax) throws(InvalidInput) {
        let start: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            bytes = try file.seekToEnd()
            try file.seek(toOffset: 0)
            // A folder can be opened, and not read.
            start = try file.read(upToCount: 256) ?? Data()
        } catch {
            throw InvalidInput(field: "file", "is \(path), which cannot be read")
        }
        self.path = path
        self.unsortedBytesMax = unsortedBytesMax
        isHashed = Self.hash(start.prefix { $0 != UInt8(ascii: "\n") }) != nil
        guard isHashed || bytes <= Self.plainBytesMax else {
            throw InvalidInput(
                field: "file",
                "is \(path), a list of passwords of \(bytes >> 20) MiB; it may have \(Self.plainBytesMax >> 20), and a file of their "
                    + "SHA-1 hashes may be of any size")
        }
    }

    package func contains(_ password: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        guard isHashed else {
            let wanted = Data(password.utf8)
            return try scan(file, from: 0, to: bytes) { $0 == wanted }
        }
        let wanted = Data(Insecure.SHA1.hash(data: Data(password.utf8)).map { $0 }.hex.utf8)
        let range = bytes <= unsortedBytesMax ? (0, bytes) : try narrow(file, to: wanted)
        return try scan(file, from: range.0, to: range.1) { Self.hash($0) == wanted }
    }

    /// Finds the part of the file where the hash is, if it is there, by halving.
    private func narrow(_ file: FileHandle, to wanted: Data) throws -> (UInt64, UInt64) {
        var (low, high) = (UInt64(0), bytes)
        while high - low > 4_096 {
            let middle = low + (high - low) / 2
            try file.seek(toOffset: middle)
            let some = try file.read(upToCount: 256) ?? Data()
            guard let end = some.firstIndex(of: UInt8(ascii: "\n")),
                let found = Self.hash(some[(end + 1)...].prefix { $0 != UInt8(ascii: "\n") })
            else { return (low, high) }
            let start = middle + UInt64(end + 1 - some.startIndex)
            if wanted.lexicographicallyPrecedes(found) { high = start } else { low = start }
        }
        return (low, high)
    }

    /// Whether a line fits, of those that begin in the range.
    private func scan(
        _ file: FileHandle, from start: UInt64, to end: UInt64, _ fits: (Data) -> Bool
    ) throws -> Bool {
        try file.seek(toOffset: start)
        var (rest, left) = (Data(), end - start)
        while left > 0 {
            guard let chunk = try file.read(upToCount: Int(min(left, 1 << 20))), !chunk.isEmpty else { break }
            left -= UInt64(chunk.count)
            rest.append(chunk)
            var line = rest.startIndex
            while let newline = rest[line...].firstIndex(of: UInt8(ascii: "\n")) {
                if fits(Self.trimmed(rest[line..<newline])) { return true }
                line = newline + 1
            }
            rest = Data(rest[line...])
            // No password is so long.
            if rest.count > 1 << 20 { rest = Data() }
        }
        return fits(Self.trimmed(rest))
    }

    private static func trimmed(_ line: Data) -> Data {
        Data(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }

    /// The hash that a line begins with, in lower case; nil where it begins with none.
    private static func hash(_ line: Data) -> Data? {
        let digits = line.prefix(hexDigits).map {
            (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) ? $0 | 0x20 : $0
        }
        let after = line.dropFirst(hexDigits).first
        guard digits.count == hexDigits, after == nil || after == UInt8(ascii: ":") || after == UInt8(ascii: "\r"),
            digits.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        return Data(digits)
    }
}

/// Refuses passwords that have leaked.
package struct UnleakedPasswords: PasswordHashing {
    private let base: any PasswordHashing
    private let leaked: LeakedPasswords

    package init(_ base: any PasswordHashing, besides leaked: LeakedPasswords) {
        self.base = base
        self.leaked = leaked
    }

    package func hash(_ password: Password, for caller: DerivationCaller) async throws -> String {
        // Its turn first: a long list is read whole for each password.
        let hash = try await base.hash(password, for: caller)
        let isLeaked = try await NIOThreadPool.singleton.runIfActive { [leaked] in
            try leaked.contains(password.text)
        }
        guard !isLeaked else {
            throw InvalidInput(field: "password", "stands in a list of passwords that have leaked; take another")
        }
        return hash
    }

    package func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        try await base.matches(password, hash, for: caller)
    }
}
