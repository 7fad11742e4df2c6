package import BelfryService
import Crypto
import Foundation
import NIOPosix

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
        guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.seekToEnd() else {
            throw InvalidInput(field: "file", "is \(path), which cannot be read")
        }
        defer { try? file.close() }
        try? file.seek(toOffset: 0)
        let start = (try? file.read(upToCount: 256)) ?? Data()
        self.path = path
        self.bytes = bytes
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
        let isLeaked = try await NIOThreadPool.singleton.runIfActive { [leaked] in
            try leaked.contains(password.text)
        }
        guard !isLeaked else {
            throw InvalidInput(field: "password", "stands in a list of passwords that have leaked; take another")
        }
        return try await base.hash(password, for: caller)
    }

    package func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        try await base.matches(password, hash, for: caller)
    }
}
