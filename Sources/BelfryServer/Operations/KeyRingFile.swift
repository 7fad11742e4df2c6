package import BelfryService
import Foundation
import Synchronization
package import SystemPackage

/// The key ring in its file, which another process may change: a key that was added there seals from then on, and opens
/// what it sealed.
package final class KeyRingFile: Vault {
    package let path: String
    private let held: Mutex<Held>

    private struct Held {
        var ring: KeyRing
        /// The contents of the file when the ring was read.
        var text: Data
    }

    private init(path: String, ring: KeyRing, text: Data) {
        self.path = path
        held = Mutex(Held(ring: ring, text: text))
    }

    /// Reads the ring; if there is none, creates one with a single new key, readable only by its owner.
    package static func open(at path: String, createIfMissing: Bool) throws(KeyRingError) -> KeyRingFile {
        if createIfMissing, !FileManager.default.fileExists(atPath: path) {
            try replace(path) { () throws(KeyRingError) in (KeyRing(), ()) }
        }
        let (ring, text) = try read(path)
        return KeyRingFile(path: path, ring: ring, text: text)
    }

    package var ring: KeyRing { get throws(KeyRingError) { try Self.read(path).ring } }

    /// Changes the file completely or not at all.
    package func change<Result>(
        _ change: (inout KeyRing) throws(KeyRingError) -> Result
    ) throws(KeyRingError) -> Result {
        try Self.replace(path) { () throws(KeyRingError) in
            var ring = try Self.read(path).ring
            let result = try change(&ring)
            return (ring, result)
        }
    }

    package func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed {
        try current().seal(secret, for: purpose)
    }

    package func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        do {
            return try held.withLock(\.ring).open(sealed, for: purpose)
        } catch VaultError.unknownKey {
            return try current().open(sealed, for: purpose)
        }
    }

    /// The ring in the file; the last known one while the file cannot be read.
    ///
    /// The file is a few lines, so that reading it costs less than asking for its attributes.
    private func current() -> KeyRing {
        let text = try? path.contents()
        return held.withLock { held in
            if let text, text != held.text, let ring = try? Self.ring(of: text) {
                held = Held(ring: ring, text: text)
            }
            return held.ring
        }
    }

    private static func read(_ path: String) throws(KeyRingError) -> (ring: KeyRing, text: Data) {
        let text: Data
        do throws(FileFault) { text = try path.contents() } catch { throw .unreadable(error) }
        return (try ring(of: text), text)
    }

    private static func ring(of text: Data) throws(KeyRingError) -> KeyRing {
        try KeyRing(text: String(decoding: text.inUTF8, as: UTF8.self))
    }

    /// Written beside the old file first, which it then replaces: whatever happens, one of the two is intact. The new file also
    /// serializes changes, so it is there before the old one is read.
    private static func replace<Result>(
        _ path: String, by make: () throws(KeyRingError) -> (KeyRing, Result)
    ) throws(KeyRingError) -> Result {
        let replacement: FileReplacement
        do throws(FileFault) {
            replacement = try FileReplacement(of: path, isExclusive: true)
        } catch {
            throw error.code == .fileExists ? .beingChanged(path) : .unwritable(error)
        }
        let made: (ring: KeyRing, result: Result)
        do throws(KeyRingError) {
            made = try make()
        } catch {
            replacement.discard()
            throw error
        }
        do {
            try replacement.write(made.ring.text.utf8)
            try replacement.commit()
        } catch {
            throw .unwritable(error as? FileFault ?? FileFault(path, .ioError, "cannot be replaced: \(error)"))
        }
        return made.result
    }
}

/// Why a file cannot be read or replaced, by its cause.
package struct FileFault: Error, Sendable, Hashable, CustomStringConvertible {
    package let path: String
    package let code: Errno
    /// The words behind the path.
    private let problem: String

    package init(_ path: String, _ code: Errno, _ problem: String) {
        (self.path, self.code, self.problem) = (path, code, problem)
    }

    /// The fault of a file that was to be read.
    init(reading path: String, _ code: Errno) {
        let problem =
            switch code {
            case .noSuchFileOrDirectory: "is missing"
            case .permissionDenied, .notPermitted:
                "cannot be read: it belongs to \(FileOwner(of: path)?.userName ?? "another user"), and this is \(SystemAccount.current)"
            case .fileTooLarge: "cannot be read: it has more than 64 MiB"
            default: "cannot be read: \(code.words)"
            }
        self.init(path, code, problem)
    }

    package var isTooLarge: Bool { code == .fileTooLarge }

    package var description: String { "\(path) \(problem)" }
}

extension Errno {
    /// The system's words; where descriptors ran out, also the name of the error and what helps.
    package var words: String {
        switch self {
        case .tooManyOpenFiles:
            "EMFILE, this process has as many files open as it may (LimitNOFILE of systemd, ulimit -n, --ulimit nofile of Docker)"
        case .tooManyOpenFilesInSystem: "ENFILE, all files that the system may have are open (fs.file-max)"
        default: description
        }
    }
}

/// Names of users of this machine.
enum SystemAccount {
    static var current: String { name(of: geteuid()) }

    /// Its number where it has no name, as in containers.
    static func name(of user: uid_t) -> String { knownName(of: user) ?? "user \(user)" }

    static func knownName(of user: uid_t) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4_096)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.pw_name.map { String(cString: $0) }
    }
}
