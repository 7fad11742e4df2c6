import GRDB
import Glibc

extension Error {
    /// Whether the cause is the disk or the file, so that every other write of the transaction fails too.
    var isOfTheDatabaseItself: Bool {
        guard let error = self as? DatabaseError else { return false }
        return switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CANTOPEN,
            .SQLITE_PERM, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM, .SQLITE_PROTOCOL, .SQLITE_MISUSE:
            true
        default: false
        }
    }

}

extension DatabaseError: EngineError {
    var storeError: any Error {
        let message = message ?? "no further words"
        return switch resultCode {
        case .SQLITE_FULL: StoreError.unavailable("the disk is full: \(message)")
        case .SQLITE_READONLY: StoreError.unavailable("the database cannot be written: \(message)")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: StoreError.unavailable("the database is damaged: \(message)")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            StoreError.unavailable("another process holds the database: \(message)")
        case .SQLITE_CANTOPEN where Self.lacksDescriptors:
            StoreError.unavailable(
                "the database cannot be opened: EMFILE, this process has as many files open as it may (LimitNOFILE, ulimit -n)"
            )
        default: StoreError.unavailable("\(extendedResultCode): \(message)")
        }
    }

    /// Whether no file can be opened. SQLite's error does not tell: it calls every cause "unable to open database file".
    private static var lacksDescriptors: Bool {
        let probe = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard probe >= 0 else { return errno == EMFILE || errno == ENFILE }
        Glibc.close(probe)
        return false
    }
}
