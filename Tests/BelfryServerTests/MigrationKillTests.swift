import BelfryTesting
import Foundation
import GRDB
import Testing

@testable import BelfryService

/// `belfry migrate`, ended by `kill -9` while it makes a database.
extension CrashTests {
    @Suite struct MigrationKillTests {
        private static let kills = 6

        @Test func `commands leave an earlier schema to belfry migrate`() async throws {
            try await TestInstallation.with { installation in
                let migrations = "SELECT identifier FROM grdb_migrations ORDER BY 1"
                let last = "(SELECT max(identifier) FROM grdb_migrations)"
                let earlier = try installation.inDatabase { db in
                    try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = \(last)")
                    return try String.fetchAll(db, sql: migrations)
                }
                let ended = try await installation.run("app", "list")
                #expect(ended.status != 0 && ended.err.contains("by `belfry migrate`: it lacks"), "\(ended.err)")
                #expect(try installation.inDatabase { try String.fetchAll($0, sql: migrations) } == earlier)
            }
        }

        @Test(.timeLimit(.minutes(20)))
        func `a killed SQLite migration leaves all or nothing`() async throws {
            try await Scratch.with { scratch in
                let file = DatabaseFile(directory: scratch.file("data"))
                // For the key ring, and to see how many bytes the log has at most.
                let (logBytes, _) = try await file.migrate(in: scratch, killedAt: nil)
                #expect(logBytes > 0 && file.version?.isCurrent == true)
                var dice = SplitMix64(seed: .random(in: 0..<1_000_000))
                var kills = 0
                // A migration that ends before it is killed shows nothing, and is tried again.
                while kills < Self.kills {
                    try file.remove()
                    let share = (Double(kills) + Double(dice.next() % 100) / 100) / Double(Self.kills)
                    let (_, wasKilled) = try await file.migrate(in: scratch, killedAt: Int(share * Double(logBytes)))
                    guard wasKilled else { continue }
                    kills += 1
                    let applied = file.version?.applied ?? []
                    #expect(SQLiteSchema.migrator.migrations.starts(with: applied), "each is done or not: \(applied)")
                    let ended = try await Program.run(["migrate", "--data-directory", file.directory], in: scratch)
                    #expect(ended.status == 0, "\(ended.err)")
                    #expect(file.version?.isCurrent == true)
                    #expect(try file.faults() == ["ok"])
                }
            }
        }
    }
}

private struct DatabaseFile {
    let directory: String

    private var path: String { directory + "/belfry.sqlite" }

    /// nil when there is none.
    var version: SchemaVersion? { try? SQLiteStore.schemaVersion(at: path) }

    func remove() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.contains(".sqlite") {
            try FileManager.default.removeItem(atPath: directory + "/" + name)
        }
    }

    /// Has the program make it, and kills that once its log has so many bytes; returns how many it had at most, and whether the
    /// program was killed before its end.
    func migrate(in scratch: Scratch, killedAt end: Int?) async throws -> (logBytes: Int, wasKilled: Bool) {
        let migration = try Program.start(
            ["migrate", "--data-directory", directory], [:], log: scratch.file("log-\(UUID().uuidString)"))
        var most = 0
        try await eventually("it comes to its end", every: .milliseconds(1)) {
            most = max(most, logBytes)
            if let end, FileManager.default.fileExists(atPath: path), most >= end { migration.endAtOnce() }
            return !migration.isRunning
        }
        return (most, migration.ending == SIGKILL)
    }

    private var logBytes: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    /// Faults that SQLite finds in the database; `ok` alone when there are none.
    func faults() throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        let faults = try queue.read { db in
            try String.fetchAll(db, sql: "PRAGMA integrity_check")
                + String.fetchAll(db, sql: #"SELECT "table" FROM pragma_foreign_key_check"#)
        }
        try queue.close()
        return faults
    }
}
