import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

@Suite struct MigrationTests {
    @Test func `a new file has to be migrated, once`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            #expect(try SQLiteStore.schemaVersion(at: path) == nil)
            #expect {
                try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            } throws: {
                if case .unavailable(let words) = $0 as? StoreError { words.contains("migrated first") } else { false }
            }
            #expect(try SQLiteStore.schemaVersion(at: path)?.missing == SQLiteSchema.migrator.migrations)
            try await SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true).close()
            #expect(try SQLiteStore.schemaVersion(at: path)?.isCurrent == true)
            try await SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true).close()
            try await SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false).close()
        }
    }

    @Test(arguments: [false, true])
    func `a database that a newer version migrated is left alone`(migrate: Bool) async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            try await store.pool.write {
                try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('0999 from the future')")
            }
            try await store.close()
            #expect {
                try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: migrate)
            } throws: {
                if case .unavailable(let words) = $0 as? StoreError { words.contains("0999") } else { false }
            }
            #expect(try SQLiteStore.schemaVersion(at: path)?.unknown == ["0999 from the future"])
        }
    }

    @Test(arguments: [false, true])
    func `the release before goes on with what was added`(migrate: Bool) async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            try await store.pool.write {
                try $0.execute(
                    sql: "INSERT INTO grdb_migrations (identifier) VALUES ('0998 labels (additive)');"
                        + "CREATE TABLE label (id INTEGER PRIMARY KEY);"
                        + "ALTER TABLE device ADD COLUMN label_count INTEGER NOT NULL DEFAULT 0")
            }
            try await store.close()
            let again = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: migrate)
            let fixture = try await TestStore(store: again, clock: ManualClock())
            let device = try await fixture.register("a", topics: .replace(["t"]))
            #expect(try await again.device(device.uuid, on: fixture.platform.key) == device)
            try await again.close()
        }
    }

    /// The number of the last migration in release 0.2.0.
    private static let last = 11

    @Test func `migrations after release 0.2.0 only add`() {
        for migration in Schema.migrations {
            let (name, number) = (migration.identifier, Int(migration.identifier.prefix(4)) ?? 0)
            #expect(number <= Self.last || name.hasSuffix(SchemaVersion.additiveMark), "\(name)")
        }
    }

    /// A node of that release clears the tables it knows, then deletes what their rows belong to.
    @Test func `deletions of release 0.2.0 take later rows along`() async throws {
        let tables = Schema.migrations.filter { (Int($0.identifier.prefix(4)) ?? 0) > Self.last }.flatMap { $0.tables }
        try await withSQLiteStore { store, _ in
            let keys = try await store.pool.read { db in
                try tables.flatMap { table in
                    try String.fetchAll(
                        db, sql: #"SELECT "table" || ' ' || on_delete FROM pragma_foreign_key_list(?)"#,
                        arguments: [table.name])
                }
            }
            #expect(keys.contains("application CASCADE") && keys.allSatisfy { $0.hasSuffix(" CASCADE") }, "\(keys)")
        }
    }

    @Test func `a half-finished migration leaves nothing and the next completes`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let queue = try DatabaseQueue(path: path)
            // One of the last things that the migration makes is in its way.
            try await queue.write { try $0.execute(sql: "CREATE TABLE node (at_ms)") }
            try queue.close()
            #expect(throws: StoreError.self) {
                try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            }
            #expect(try SQLiteStore.schemaVersion(at: path)?.missing == SQLiteSchema.migrator.migrations)
            let mended = try DatabaseQueue(path: path)
            #expect(try await mended.read { try !$0.tableExists("tenant") })
            try await mended.write { try $0.execute(sql: "DROP TABLE node") }
            try mended.close()
            try await SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true).close()
            #expect(try SQLiteStore.schemaVersion(at: path)?.isCurrent == true)
        }
    }

    @Test func `devices keep their UUIDs when the file is opened again`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a", topics: .replace(["t"]))
            try await store.close()
            let again = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            #expect(try await again.device(device.uuid, on: fixture.platform.key) == device)
            try await again.close()
        }
    }

    @Test func `no table check needs SQLite to build a table`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a")
            let insert = try await store.pool.read { db in
                try db.prepared("EXPLAIN " + SQLiteDeviceStatements.insert).all { $0.text(1) }
            }
            #expect(insert.contains("Insert") && !insert.contains("OpenEphemeral"))
            await #expect(throws: (any Error).self) {
                try await store.writer.write { session in
                    try session.db.execute(sql: "UPDATE device SET reach = 3 WHERE id = \(device.key.rawValue)")
                }
            }
            let faults = try await store.pool.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
            #expect(faults == ["ok"])
        }
    }
}
