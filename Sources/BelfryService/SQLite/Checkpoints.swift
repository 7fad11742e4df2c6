import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// Copies the write-ahead log into the database file beside the writer, so that no write waits for it.
///
/// A connection of its own copies and flushes the bulk while the writer goes on, then the pages that were written meanwhile, until few are
/// left. Those are copied between two transactions of the writer, which waits for the disk then. The log then restarts from its beginning, so its size stays near `framesMax`.
final class Checkpoints: Sendable {
    private let pool: DatabasePool
    private let mover: DatabaseQueue
    private let logger: Logger
    private let frames = FrameCount()
    private let isRunning = Atomic(false)
    /// The size of the log at which it is copied again, where it did not restart.
    private let next = Atomic(0)

    /// Pages of 4 KiB. Each page is copied once however often the log contains it, so a larger interval is cheaper.
    static let framesMax = 20_000
    /// The size at which the writer waits for readers of the log to finish, so that it can restart.
    static let framesLimit = 4 * framesMax
    /// Seconds that it waits for them, and for another process's locks at other times. A backup reads for minutes, and everybody who
    /// writes would wait for it.
    static let (readersWait, othersWait) = (0.02, 5.0)
    /// How often the log is copied at most before the writer completes the rest, and how many pages may be left to it.
    private static let (roundsMax, restMax) = (6, 500)

    init(pool: DatabasePool, logger: Logger) throws {
        self.pool = pool
        self.logger = logger
        var configuration = Configuration()
        configuration.label = "belfry.store.checkpoints"
        configuration.busyMode = .timeout(Self.othersWait)
        mover = try DatabaseQueue(path: pool.path, configuration: configuration)
        try mover.writeWithoutTransaction { try $0.execute(sql: CheckpointStatements.noAutomatism) }
        pool.unsafeReentrantWrite { frames.listen(on: $0.sqliteConnection) }
    }

    /// Copies everything, and ends.
    func finish() async throws {
        try mover.close()
        try await pool.writeWithoutTransaction { db in
            do { try db.prepared(CheckpointStatements.truncate).run() } catch {
                self.logger.debug("log was not moved at the end", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Called after each commit.
    func note() {
        let frames = frames.count
        guard frames >= Self.framesMax else { return next.store(0, ordering: .relaxed) }
        guard frames >= next.load(ordering: .relaxed) else { return }
        guard isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        mover.asyncWriteWithoutTransaction { db in
            for _ in 0..<Self.roundsMax {
                let moved = self.move(db, CheckpointStatements.passive)
                db.flushFile()
                if self.frames.count - moved <= Self.restMax { break }
            }
            self.pool.asyncWriteWithoutTransaction { db in
                db.waitForOthers(Self.readersWait)
                let moved = self.move(
                    db, frames >= Self.framesLimit ? CheckpointStatements.restart : CheckpointStatements.passive)
                db.waitForOthers(Self.othersWait)
                // What a reader holds back is copied once it has ended, not after each commit until then.
                let all = self.frames.count
                self.next.store(all + (moved < all ? Self.framesMax / 2 : Self.restMax), ordering: .relaxed)
                self.isRunning.store(false, ordering: .releasing)
            }
        }
    }

    /// Returns the number of pages of the log that are copied then.
    private func move(_ db: Database, _ sql: String) -> Int {
        do {
            return try db.prepared(sql).first { Int($0.integer(2)) } ?? 0
        } catch {
            logger.warning("log could not be moved into the file", metadata: ["error": "\(error)"])
            return 0
        }
    }
}

extension Database {
    fileprivate func waitForOthers(_ seconds: Double) { sqlite3_busy_timeout(sqliteConnection, CInt(seconds * 1_000)) }

    /// Waits until the copied pages are on the disk, so that the writer need not: SQLite itself waits only when all is copied. An error
    /// here occurs again, and is reported, when SQLite waits.
    fileprivate func flushFile() {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK else {
            return
        }
        _ = file?.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL)
    }
}

/// The number of pages in the log, as the writer's connection reports after each commit.
private final class FrameCount: Sendable {
    private let frames = Atomic(0)

    var count: Int { frames.load(ordering: .relaxed) }

    /// The connection keeps this alive, because it does not report when it is closed.
    func listen(on connection: OpaquePointer?) {
        _ = sqlite3_wal_hook(
            connection,
            { context, _, _, frames in
                guard let context else { return SQLITE_OK }
                let count = Unmanaged<FrameCount>.fromOpaque(context).takeUnretainedValue()
                count.frames.store(Int(frames), ordering: .relaxed)
                return SQLITE_OK
            }, Unmanaged.passRetained(self).toOpaque())
    }
}

enum CheckpointStatements {
    static let noAutomatism = "PRAGMA wal_autocheckpoint = 0 /* checkpoint.off */"
    static let passive = "PRAGMA wal_checkpoint(PASSIVE) /* checkpoint.passive */"
    static let restart = "PRAGMA wal_checkpoint(RESTART) /* checkpoint.restart */"
    static let truncate = "PRAGMA wal_checkpoint(TRUNCATE) /* checkpoint.truncate */"
}
