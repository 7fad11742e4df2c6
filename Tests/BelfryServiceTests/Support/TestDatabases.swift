import BelfryService
import BelfryTesting
import PostgreSQL
import PostgresRig

/// Gives each test a database of its own on the process's server. One that a test is done with is emptied for another, for to
/// make or drop a database takes the server longer than most tests.
enum TestDatabases {
    /// Runs `body` with the connection string of a migrated, empty database.
    static func withDatabase(_ body: (String) async throws -> Void) async throws {
        let name = try await AdminService.shared.take()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(try PostgresServer.shared().connection(to: name)))
        } catch {
            outcome = .failure(error)
        }
        await AdminService.shared.giveBack(name)
        try outcome.get()
    }

    /// Runs `body` with the connection string of a database without a schema.
    static func withBareDatabase(_ body: (String) async throws -> Void) async throws {
        let name = try await AdminService.shared.make()
        try await body(try PostgresServer.shared().connection(to: name))
    }
}

/// Makes the databases, and empties them.
private actor AdminService {
    static let shared = AdminService()

    private var free: [String] = []

    func take() async throws -> String {
        if let name = free.popLast() {
            try await run(Self.emptying, in: name)
            return name
        }
        let name = try await make()
        let store = try await PostgresStore.open(
            .init(connection: try PostgresServer.shared().connection(to: name), connectionsMax: 1), logger: .strict,
            migrate: true)
        await store.close()
        return name
    }

    func giveBack(_ name: String) { free.append(name) }

    func make() async throws -> String {
        let name = try await PostgresServer.sharedOnceUp().freshName()
        try await run("CREATE DATABASE \(name)", in: "postgres")
        return name
    }

    private func run(_ script: String, in database: String) async throws {
        let pool = ConnectionPool(ConnectionOptions(try PostgresServer.shared().connection(to: database)), size: 1)
        let result = await Swift.Result { try await pool.run { try $0.run(script: script) } }
        await pool.close()
        try result.get()
    }

    /// Triggers and foreign keys are passed by meanwhile.
    private static let emptying = """
        DO $$
        DECLARE name text;
        BEGIN
            PERFORM set_config('session_replication_role', 'replica', true);
            FOR name IN SELECT tablename FROM pg_tables
                         WHERE schemaname = 'public' AND tablename NOT IN ('setting', 'belfry_migration')
            LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
            FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'
            LOOP PERFORM setval(name, 1, false); END LOOP;
            INSERT INTO tenant (uuid, name, created_at_ms) VALUES (gen_random_uuid(), 'default', 0);
            INSERT INTO search_index (id, device_id) VALUES (1, 0);
            INSERT INTO subscription_mark DEFAULT VALUES;
            INSERT INTO device_horizon DEFAULT VALUES;
            INSERT INTO topic_deletion DEFAULT VALUES;
        END $$
        """
}

extension Swift.Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Runs `body` with an empty store in PostgreSQL.
func withPostgresStore(
    clock: ManualClock = ManualClock(), _ body: (PostgresStore, String) async throws -> Void
) async throws {
    try await TestDatabases.withDatabase { connection in
        var options = PostgresStore.Options(connection: connection, connectionsMax: 4, clock: clock)
        options.searchLimit = .patient
        let store = try await PostgresStore.open(options, logger: .strict, migrate: false)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(store, connection)) } catch { outcome = .failure(error) }
        await store.close()
        try outcome.get()
    }
}
