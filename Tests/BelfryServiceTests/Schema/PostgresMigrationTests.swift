import BelfryTesting
import PostgreSQL
import PostgresRig
import Testing

@testable import BelfryService

@Suite(.timeLimit(.minutes(20))) struct PostgresMigrationTests {
    @Test func `nodes that start together migrate once`() async throws {
        try await TestDatabases.withBareDatabase { connection in
            let stores = try await withThrowingTaskGroup(of: PostgresStore.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await PostgresStore.open(
                            .init(connection: connection, connectionsMax: 1), logger: .strict, migrate: true)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for store in stores { await store.close() }
            let version = try await PostgresStore.schemaVersion(of: connection)
            #expect(version.isCurrent)
            #expect(version.applied == PostgresSchema.migrations.map(\.identifier))
        }
    }

    @Test func `without leave to migrate, an empty database is refused`() async throws {
        try await TestDatabases.withBareDatabase { connection in
            let error = await #expect(throws: StoreError.self) {
                _ = try await PostgresStore.open(.init(connection: connection), logger: .strict, migrate: false)
            }
            #expect(error?.description.contains("0001") == true)
            let version = try await PostgresStore.schemaVersion(of: connection)
            #expect(version.applied.isEmpty)
        }
    }

    @Test func `a database of a newer program is left alone`() async throws {
        try await TestDatabases.withBareDatabase { connection in
            let store = try await PostgresStore.open(.init(connection: connection), logger: .strict, migrate: true)
            await store.close()
            let pool = ConnectionPool(ConnectionOptions(connection), size: 1)
            _ = try await pool.run { try $0.prepared(SchemaStatements.note).run("9999 of tomorrow") }
            await pool.close()
            let error = await #expect(throws: StoreError.self) {
                _ = try await PostgresStore.open(.init(connection: connection), logger: .strict, migrate: true)
            }
            #expect(error?.description.contains("9999 of tomorrow") == true)
        }
    }

    @Test func `a half-finished migration leaves nothing and the next completes`() async throws {
        try await TestDatabases.withBareDatabase { connection in
            let pool = ConnectionPool(ConnectionOptions(connection), size: 1)
            try await pool.run { try $0.run(script: "CREATE TABLE push_progress (in_the_way bigint)") }
            await #expect(throws: StoreError.self) {
                _ = try await PostgresStore.open(.init(connection: connection), logger: .strict, migrate: true)
            }
            let version = try await PostgresStore.schemaVersion(of: connection)
            #expect(version.applied.isEmpty)
            try await pool.run { try $0.run(script: "DROP TABLE push_progress") }
            await pool.close()
            let store = try await PostgresStore.open(.init(connection: connection), logger: .strict, migrate: true)
            await store.close()
        }
    }
}
