import BelfryService
// The C library's `stat` counts as a part of it where GRDB is loaded first.
import CDispatch
import Foundation
import SystemPackage

/// The owner, the group and the mode of a file.
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
                + "be used by \(owner.userName) any more. Run this as \(owner.userName), or as root"
        ])
    }
}

extension String {
    var parentDirectory: String {
        let parent = FilePath(self).removingLastComponent()
        return parent.isEmpty ? "." : parent.string
    }
}
