import BelfryService
// The C library's `stat` counts as a part of it where GRDB is loaded first.
import CDispatch
package import Foundation
import SystemPackage

/// Puts a new file in the place of another, whole or not at all, with the owner and the mode of the one before.
///
/// The draft beside the file gets both before anything is written. What cannot be is refused there, and nothing has changed. A symbolic
/// link stays one: the file that it leads to is replaced.
package final class FileReplacement {
    private let path: String
    private let draft: String
    private let file: FileDescriptor
    /// Whether the draft is still there, and open.
    private var isOpen = true

    /// Throws `FileFault`, with the draft taken away.
    ///
    /// - Parameters:
    ///   - model: a file or a directory whose owner a new file gets where root makes it; nil for its directory.
    ///   - isPrivate: whether none but the owner may use it, whatever the mode of the file before.
    ///   - isExclusive: whether a draft that is there is refused, as another process's; else it is replaced.
    package init(
        of path: String, like model: String? = nil, isPrivate: Bool = false, isExclusive: Bool = false
    ) throws(FileFault) {
        self.path = try Self.target(of: path)
        draft = self.path + ".new"
        var owner = FileOwner(of: self.path)
        if owner == nil {
            owner = FileOwner.ofNewFile(at: self.path)
            if var new = owner, let model = model.flatMap({ FileOwner(of: $0) }) {
                (new.user, new.group) = (model.user, model.group)
                owner = new
            }
        }
        if isPrivate, let mode = owner?.mode { owner?.mode = mode & 0o700 }
        if !isExclusive { unlink(draft) }
        file = try Self.create(draft, for: self.path)
        do throws(FileFault) {
            if let owner { try give(to: owner) }
        } catch {
            discard()
            throw error
        }
    }

    /// The target of a symbolic link; other paths are returned unchanged. Root follows no link that another user may have put there.
    private static func target(of path: String) throws(FileFault) -> String {
        var link = stat()
        guard lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else { return path }
        if geteuid() == 0, let owner = FileOwner(of: path.parentDirectory), owner.user != 0 {
            throw FileFault(
                path, .permissionDenied,
                "is a symbolic link in a directory of \(owner.userName), which root does not follow: run this as \(owner.userName)"
            )
        }
        return path.resolvingLinks
    }

    private static func create(_ draft: String, for path: String) throws(FileFault) -> FileDescriptor {
        do {
            return try FileDescriptor.open(
                FilePath(draft), .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                permissions: .ownerReadWrite)
        } catch {
            let code = error as? Errno ?? .ioError
            throw FileFault(path, code, "cannot be replaced: \(draft): \(code.words)")
        }
    }

    private func give(to owner: FileOwner) throws(FileFault) {
        var made = stat()
        guard fstat(file.rawValue, &made) == 0 else { throw fault() }
        if made.st_uid != owner.user || made.st_gid != owner.group,
            fchown(file.rawValue, owner.user, owner.group) != 0
        {
            throw FileFault(
                path, Errno(rawValue: errno),
                "belongs to \(owner.userName), and \(SystemAccount.current) cannot make a file of theirs: run this as \(owner.userName)"
                    + (owner.user == 0 ? "" : ", or as root") + ". Nothing was changed")
        }
        guard made.st_mode & 0o777 == owner.mode || fchmod(file.rawValue, owner.mode) == 0 else { throw fault() }
    }

    private func fault(_ cause: any Error = Errno(rawValue: errno)) -> FileFault {
        let code = cause as? Errno
        return FileFault(path, code ?? .ioError, "cannot be replaced: \(code?.words ?? "\(cause)")")
    }

    /// Writes the content, and flushes it to the disk. Throws with the draft taken away.
    package func write(_ data: some Sequence<UInt8>) throws { try fill { try file.writeAll(data) } }

    /// Writes the content of another file.
    func copy(_ source: String) throws {
        try fill {
            let source = try FileDescriptor.open(FilePath(source), .readOnly, options: .closeOnExec)
            try source.closeAfter {
                var buffer = [UInt8](repeating: 0, count: 1 << 20)
                while case let count = try buffer.withUnsafeMutableBytes({ try source.read(into: $0) }), count > 0 {
                    try file.writeAll(buffer[..<count])
                }
            }
        }
    }

    private func fill(_ body: () throws -> Void) throws {
        do {
            try body()
            guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            discard()
            throw fault(error)
        }
    }

    /// Takes the draft away; nothing once it was put in place, or taken away before.
    func discard() {
        guard isOpen else { return }
        isOpen = false
        try? file.close()
        unlink(draft)
    }

    /// Puts the draft in the place of the file.
    package func commit() throws {
        do {
            try draft.move(to: path)
            isOpen = false
            try file.close()
        } catch {
            discard()
            throw fault(error)
        }
    }
}

extension Data {
    /// Puts the bytes in the place of a file, or makes one that only its owner can read.
    package func replace(_ path: String, isPrivate: Bool = false) throws {
        let replacement = try FileReplacement(of: path, isPrivate: isPrivate)
        try replacement.write(self)
        try replacement.commit()
    }
}

struct FileOwner: Sendable, Hashable {
    var user: uid_t
    var group: gid_t
    /// The permissions alone.
    var mode: mode_t

    /// nil where there is no such file.
    init?(of path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (user, group, mode) = (found.st_uid, found.st_gid, found.st_mode & 0o777)
    }

    var userName: String { SystemAccount.name(of: user) }

    /// Whether a file that this process makes has this owner by itself.
    var isOwn: Bool { user == geteuid() && group == getegid() }

    /// The owner of a file that is not there yet, where root makes it: that of its directory, whose files a server of another user
    /// reads. nil leaves it to the process that makes it.
    static func ofNewFile(at path: String) -> FileOwner? {
        guard geteuid() == 0, var owner = FileOwner(of: path.parentDirectory) else { return nil }
        owner.mode = 0o600
        return owner
    }

    /// Throws where the files that SQLite makes beside a database would be another user's, and lock its server out. Root gives them to
    /// the owner of the database, as SQLite does. Source: sqlite.org/src, `robustFchown` in os_unix.c.
    static func demandDatabase(at path: String) throws(ConfigurationFaults) {
        guard geteuid() != 0, let owner = FileOwner(of: path), owner.user != geteuid() else { return }
        throw ConfigurationFaults(lines: [
            "the database \(path) belongs to \(owner.userName), and this is \(SystemAccount.current): what SQLite makes beside it could not "
                + "be used by \(owner.userName) any more. Run this as \(owner.userName)"
                + (owner.user == 0 ? "" : ", or as root")
        ])
    }
}

extension String {
    var parentDirectory: String {
        let parent = FilePath(self).removingLastComponent()
        return parent.isEmpty ? "." : parent.string
    }
}
