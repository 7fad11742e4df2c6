package import BelfryService
import Foundation
import Logging

extension SQLiteStore {
    /// An empty database in a directory of its own, which is removed with the store.
    package static func temporary(clock: any WallClock, quotas: Quotas = Quotas()) throws -> SQLiteStore {
        let directory = try TemporaryDirectory()
        for (name, bytes) in try migrated.get() {
            try bytes.write(to: URL(fileURLWithPath: directory.path + "/" + name))
        }
        return try open(
            at: directory.database, clock: clock, logger: silent, migrate: false, quotas: quotas, observer: directory,
            searchLimit: .patient)
    }

    /// Another store on the same file, as another process has it.
    package func twin() throws -> SQLiteStore {
        try Self.open(at: path, clock: clock, logger: Self.silent, migrate: false)
    }

    /// The files of a database with the whole schema, which is made once: the others are copies of it. The log has what was
    /// not copied into the database yet.
    private static let migrated = Result {
        let directory = try TemporaryDirectory()
        let store = try open(
            at: directory.database, clock: ManualClock(), logger: silent, migrate: true, for: .copyingFrom)
        return try withExtendedLifetime(store) {
            try [directory.database, directory.database + "-wal"].filter(FileManager.default.fileExists).map { path in
                let url = URL(fileURLWithPath: path)
                return (url.lastPathComponent, try Data(contentsOf: url))
            }
        }
    }

    private static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension Duration {
    /// The limit on a search where the machine may be busy with other tests.
    package static let patient = Duration.seconds(1_200)
}

/// A directory that is removed with its last owner. It is the observer of its store, which so is an owner.
private final class TemporaryDirectory: StoreObserver {
    let path: String

    var database: String { path + "/belfry.sqlite" }

    init() throws {
        // In memory where there is such a place.
        let parent = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        path = parent + "/belfry-test-\(UUID())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func writesWaiting(_ count: Int) {}
    func transactionEnded(after duration: Duration) {}
}
