import Foundation
package import SystemPackage

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
    static func name(of user: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4_096)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name
        else {
            return "user \(user)"
        }
        return String(cString: name)
    }
}
