import BelfryTesting
import Foundation
import GRDB
import Testing

@testable import BelfryStore

/// `belfry migrate`, ended by `kill -9` while it brings an old database forward.
extension ServerTests {
    @Suite struct MigrationKillTests {
        private static let rounds = 6

        @Test(.timeLimit(.minutes(3)))
        func `a migration of a file that is killed half way is finished by the next one, and nothing is lost`()
            async throws
        {
            try await Scratch.with { scratch in
                let old = try await OldFile.make(in: scratch)
                let before = try old.contents()
                let undisturbed = try old.copied(to: scratch.file("undisturbed"))
                let logBytes = try await undisturbed.migrate(in: scratch, killedAt: nil)
                var (dice, halfWay) = (SplitMix64(seed: .random(in: 0..<1_000_000)), 0)
                for round in 0..<Self.rounds {
                    let file = try old.copied(to: scratch.file("round-\(round)"))
                    // Somewhere in its part of the way.
                    let share = (Double(round) + Double(dice.next() % 100) / 100) / Double(Self.rounds)
                    try await file.migrate(in: scratch, killedAt: Int(share * Double(logBytes)))
                    let version = try #require(try SQLiteStore.schemaVersion(at: file.path))
                    #expect(version.applied + version.missing == SQLiteSchema.migrator.migrations)
                    if !version.missing.isEmpty, version.applied.count > 1 { halfWay += 1 }
                    let ended = try await Program.run(["migrate", "--data-directory", file.directory], in: scratch)
                    #expect(ended.status == 0, "\(ended.err)")
                    #expect(try SQLiteStore.schemaVersion(at: file.path)?.isCurrent == true)
                    #expect(try file.contents() == before, "round \(round) lost something")
                    #expect(try file.faults() == ["ok"])
                    try FileManager.default.removeItem(atPath: file.directory)
                }
                print("\(halfWay) of \(Self.rounds) kills left a schema half way, the log had \(logBytes) bytes")
                #expect(halfWay > 0, "no kill came in time")
            }
        }
    }
}

/// A data directory with a database as the first version made it.
private struct OldFile {
    let directory: String

    var path: String { directory + "/belfry.sqlite" }

    static func make(in scratch: Scratch) async throws -> OldFile {
        let old = OldFile(directory: scratch.file("old"))
        // For the key ring.
        let ended = try await Program.run(["migrate", "--data-directory", old.directory], in: scratch)
        #expect(ended.status == 0, "\(ended.err)")
        for name in try FileManager.default.contentsOfDirectory(atPath: old.directory) where name.contains(".sqlite") {
            try FileManager.default.removeItem(atPath: old.directory + "/" + name)
        }
        let queue = try DatabaseQueue(path: old.path)
        try SQLiteSchema.migrator.migrate(queue, upTo: SQLiteSchema.migrator.migrations[0])
        try await queue.write { try $0.execute(sql: rows) }
        try queue.close()
        return old
    }

    func copied(to directory: String) throws -> OldFile {
        try FileManager.default.copyItem(atPath: self.directory, toPath: directory)
        return OldFile(directory: directory)
    }

    /// Has the program migrate it, and ends that once its log has so many bytes; returns how many it had at most.
    @discardableResult
    func migrate(in scratch: Scratch, killedAt end: Int?) async throws -> Int {
        let migration = try Program.start(
            ["migrate", "--data-directory", directory], [:], log: scratch.file("log-\(UUID().uuidString)"))
        var most = 0
        try await eventually("it comes to its end", every: .milliseconds(1)) {
            most = max(most, logBytes)
            if let end, most > end { migration.endAtOnce() }
            return !migration.isRunning
        }
        return most
    }

    private var logBytes: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    /// All that the first version wrote, as text.
    func contents() throws -> String {
        try read { try String.fetchOne($0, sql: Self.everything) } ?? ""
    }

    /// What SQLite finds wrong with it; `ok` alone when nothing is.
    func faults() throws -> [String] {
        try read { db in
            try String.fetchAll(db, sql: "PRAGMA integrity_check")
                + String.fetchAll(db, sql: #"SELECT "table" FROM pragma_foreign_key_check"#)
        }
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: path)
        let value = try queue.read(body)
        try queue.close()
        return value
    }

    /// So many that the steps which make tables and indexes anew take their time.
    private static let rows = """
        INSERT INTO application (uuid, name, api_key_hash, shared_secret, created_at_ms)
        VALUES (randomblob(16), 'bakery', x'01', x'02', 1);
        INSERT INTO platform (
            uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, created_at_ms)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT randomblob(16), 1, 'ios', 'production', 'platform ' || i, x'01', randomblob(60), 1, i FROM n;
        INSERT INTO device (platform_id, reach, registered_at_ms, token_hash, token, topics)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT i, 1, i, i * 7919, randomblob(32), x'' FROM n;
        INSERT INTO push (receipt_id, application_id, lane, guarantee, accepted_at_ms, content, audience)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000)
        SELECT randomblob(16), 1, 1, 0, i, '{}', '{}' FROM n;
        INSERT INTO push_progress (push_id, open_walk_count, device_count, first_answer_at_ms, settled_at_ms)
        SELECT id, 0, 3, id, id + 1 FROM push;
        INSERT INTO page (
            push_id, platform_id, lane, first_device_id, last_device_id, is_open, due_at_ms, devices, answers)
        SELECT id, id, 1, 1, 3, 0, 1, x'010101', x'010101' FROM push WHERE id < 5000;
        """

    private static let everything = """
        SELECT (SELECT group_concat(id || hex(uuid) || kind || name || hex(credentials) || created_at_ms) FROM platform)
            || (SELECT group_concat(id || platform_id || hex(token) || registered_at_ms) FROM device)
            || (SELECT group_concat(id || hex(receipt_id) || content || settled_at_ms)
                  FROM push JOIN push_progress ON push_id = push.id)
            || (SELECT group_concat(id || push_id || hex(devices) || hex(answers)) FROM page)
        """
}
