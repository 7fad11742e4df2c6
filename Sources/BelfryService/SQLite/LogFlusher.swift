import Dispatch
import Foundation

/// Flushes commits to the disk beside the writer: while one commit is being flushed, the next is made.
///
/// SQLite would wait for the disk inside the commit, and the writer with it. Here the connection commits without
/// waiting (`synchronous = NORMAL`), this waits, and only then are callers answered. A power failure loses at most a tail of the log of
/// which no caller was answered, since the log is replayed up to its first incomplete commit.
/// Source: sqlite.org/pragma.html#pragma_synchronous.
final class LogFlusher: Sendable {
    private let queue = DispatchQueue(label: "belfry.store.flusher")
    private let sync: @Sendable () throws -> Void

    /// - Parameter sync: returns when all that was committed before the call is on the disk.
    init(sync: @escaping @Sendable () throws -> Void) { self.sync = sync }

    /// Flushes the write-ahead log of the database at `path`, which has to be open: as long as it is, its log is one file.
    convenience init(path: String) throws {
        let log = try LogFile(path: path + "-wal")
        self.init { try log.sync() }
    }

    /// Calls `then` when all that was committed before is on the disk, or could not be flushed.
    func flush(_ then: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        queue.async { then(Result { try self.sync() }) }
    }
}

/// A descriptor of the log beside SQLite's own. Closing it releases no lock, because SQLite locks the other two files.
private final class LogFile: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure("opened") }
    }

    deinit { close(descriptor) }

    /// The log's times do not matter, and writing them costs a journal entry of the file system for each call.
    func sync() throws {
        guard fdatasync(descriptor) == 0 else { throw Self.failure("flushed") }
    }

    private static func failure(_ effect: String) -> StoreError {
        StoreError.unavailable("the log could not be \(effect): \(String(cString: strerror(errno)))")
    }
}
