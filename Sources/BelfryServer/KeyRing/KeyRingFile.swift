package import BelfryCore
import Foundation
import Synchronization
import SystemPackage

/// The key ring in its file, which another process may change: a key that was added there seals from then on, and opens
/// what it sealed.
package final class KeyRingFile: Vault {
    package let path: String
    private let held: Mutex<Held>

    private struct Held {
        var ring: KeyRing
        /// What the file said when the ring was read.
        var text: Data?
    }

    private init(path: String, ring: KeyRing, text: Data?) {
        self.path = path
        held = Mutex(Held(ring: ring, text: text))
    }

    /// Reads the ring; if there is none, creates one with a single new key, readable only by its owner.
    package static func open(at path: String, createIfMissing: Bool) throws(KeyRingError) -> KeyRingFile {
        if createIfMissing, !FileManager.default.fileExists(atPath: path) { try write(KeyRing(), to: path) }
        let text = FileManager.default.contents(atPath: path)
        return KeyRingFile(path: path, ring: try ring(of: text, at: path), text: text)
    }

    package var ring: KeyRing {
        get throws(KeyRingError) { try Self.read(path) }
    }

    /// Changes the file completely or not at all.
    package func change<Result>(
        _ change: (inout KeyRing) throws(KeyRingError) -> Result
    ) throws(KeyRingError) -> Result {
        var ring = try Self.read(path)
        let result = try change(&ring)
        try Self.write(ring, to: path)
        return result
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
        let text = FileManager.default.contents(atPath: path)
        return held.withLock { held in
            if let text, text != held.text, let ring = try? Self.ring(of: text, at: path) {
                held = Held(ring: ring, text: text)
            }
            return held.ring
        }
    }

    private static func read(_ path: String) throws(KeyRingError) -> KeyRing {
        try ring(of: FileManager.default.contents(atPath: path), at: path)
    }

    private static func ring(of text: Data?, at path: String) throws(KeyRingError) -> KeyRing {
        guard let text else { throw .unreadable(path) }
        return try KeyRing(text: String(decoding: text, as: UTF8.self))
    }

    /// Written beside the old file first, which it then replaces: whatever happens, one of the two is intact. The new
    /// file also serializes changes.
    private static func write(_ ring: KeyRing, to path: String) throws(KeyRingError) {
        let draft = FilePath(path + ".new")
        do {
            let file = try FileDescriptor.open(
                draft, .writeOnly, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
            try file.closeAfter {
                try file.writeAll(ring.text.utf8)
                guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
            guard rename(draft.string, path) == 0 else { throw Errno(rawValue: errno) }
            let directory = try FileDescriptor.open(FilePath(path).removingLastComponent(), .readOnly)
            try directory.closeAfter {
                guard fsync(directory.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
        } catch {
            throw .unwritable(path)
        }
    }
}
