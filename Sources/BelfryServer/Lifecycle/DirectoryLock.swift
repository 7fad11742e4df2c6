import Foundation
import SystemPackage

/// The lock of a server on its data directory, which keeps a second one from working through the same file. What moves or replaces a
/// database has it too.
///
/// The kernel releases it when the process ends, however it ends, so none is ever left behind. Source: flock(2).
final class DirectoryLock: Sendable {
    private let directory: FileDescriptor
    /// Whether the file system keeps locks, so that no other server works through the directory.
    let isExclusive: Bool

    private static let attempts = 20
    private static let pause = Duration.milliseconds(25)

    /// Throws `ConfigurationFaults` while another server has the directory. A file system that keeps no locks lets every server in.
    static func take(_ path: String) async throws -> DirectoryLock {
        let directory = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
        for attempt in 1...attempts {
            if flock(directory.rawValue, LOCK_EX | LOCK_NB) == 0 { return DirectoryLock(directory, isExclusive: true) }
            guard errno == EWOULDBLOCK else { return DirectoryLock(directory, isExclusive: false) }
            // A command that asks whether a server runs has the lock for a moment.
            if attempt < attempts { try await Task.sleep(for: pause) }
        }
        try directory.close()
        throw ConfigurationFaults(lines: [
            "another server is running on \(path) (data.directory), or a command restores or copies its database: stop it first. Nodes that "
                + "share the work need a PostgreSQL (database.url)"
        ])
    }

    private init(_ directory: FileDescriptor, isExclusive: Bool) {
        self.directory = directory
        self.isExclusive = isExclusive
    }

    deinit { try? directory.close() }

    /// Whether a server has the directory: true also where the file system keeps no locks, false where the directory cannot be opened.
    static func isHeld(_ path: String) -> Bool {
        guard let directory = try? FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec) else {
            return false
        }
        defer { try? directory.close() }
        return flock(directory.rawValue, LOCK_SH | LOCK_NB) != 0
    }
}
