import BelfryCore
import GRDB
import Testing

@testable import BelfryStoreSQLite
import BelfryTesting

@Suite struct MigrationTests {
    @Test func `a new file has to be migrated, once`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            #expect(try SQLiteStore.schemaVersion(at: path) == nil)
            #expect {
                try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: false)
            } throws: {
                if case .unavailable(let words) = $0 as? StoreError { words.contains("migrated first") } else { false }
            }
            #expect(try SQLiteStore.schemaVersion(at: path)?.missing == Schema.migrator.migrations)
            try await SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true).close()
            #expect(try SQLiteStore.schemaVersion(at: path)?.isCurrent == true)
            try await SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true).close()
            try await SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: false).close()
        }
    }

    @Test(arguments: [false, true])
    func `a database that a newer version migrated is left alone`(migrate: Bool) async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true)
            try await store.pool.write {
                try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('0999 from the future')")
            }
            try await store.close()
            #expect {
                try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: migrate)
            } throws: {
                if case .unavailable(let words) = $0 as? StoreError { words.contains("0999") } else { false }
            }
            #expect(try SQLiteStore.schemaVersion(at: path)?.unknown == ["0999 from the future"])
        }
    }

    @Test func `devices keep their UUIDs when the file is opened again`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true)
            let scene = try await Scene(store: store, clock: HandClock())
            let device = try await scene.register("a", topics: .replace(["t"]))
            try await store.close()
            let again = try SQLiteStore.open(at: path, clock: HandClock(), logger: .strict, migrate: true)
            #expect(try await again.device(device.uuid, on: scene.platform.key) == device)
            try await again.close()
        }
    }
}
