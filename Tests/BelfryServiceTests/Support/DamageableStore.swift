import BelfryService
import BelfryTesting
import GRDB
import Logging
import PostgreSQL

/// The engines whose rows can be damaged.
enum DamageableEngine: String, CaseIterable, Sendable {
    case sqlite, postgres

    static let allCases = Engine.allCases.compactMap { DamageableEngine(rawValue: $0.rawValue) }

    /// Runs `body` with an empty database.
    func damageable(_ body: (DamageableStore) async throws -> Void) async throws {
        switch self {
        case .sqlite: try await damageableSQLite(body)
        case .postgres: try await damageablePostgres(body)
        }
    }

    /// Bytes, as a statement has them.
    func bytes(_ hex: String) -> String {
        switch self {
        case .sqlite: "x'\(hex)'"
        case .postgres: "'\\x\(hex)'"
        }
    }

    private func damageableSQLite(_ body: (DamageableStore) async throws -> Void) async throws {
        try await withDirectory { directory in
            let (log, clock, path) = (CapturedLog(), ManualClock(), directory + "/belfry.sqlite")
            let stores = try (0..<2).map { _ in
                try SQLiteStore.open(
                    at: path, clock: clock, logger: log.logger, migrate: true)
            }
            try await body(
                DamageableStore(
                    fixture: try await TestStore(store: stores[0], clock: clock), neighbour: stores[1], log: log,
                    bytes: bytes
                ) { script in
                    var loop = Configuration()
                    loop.busyMode = .timeout(5)
                    let hand = try DatabaseQueue(path: path, configuration: loop)
                    try await hand.write { try $0.execute(sql: script) }
                    try hand.close()
                })
            for store in stores { try await store.close() }
        }
    }

    private func damageablePostgres(_ body: (DamageableStore) async throws -> Void) async throws {
        try await TestDatabases.withDatabase { connection in
            let (log, clock) = (CapturedLog(), ManualClock())
            let stores = try await [open(connection, clock, log), open(connection, clock, log)]
            let hand = ConnectionPool(ConnectionOptions(connection), size: 1)
            let outcome: Swift.Result<Void, any Error>
            do {
                try await body(
                    DamageableStore(
                        fixture: try await TestStore(store: stores[0], clock: clock), neighbour: stores[1], log: log,
                        bytes: bytes
                    ) { script in try await hand.run { try $0.run(script: script) } })
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            await hand.close()
            for store in stores { await store.close() }
            try outcome.get()
        }
    }

    private func open(_ connection: String, _ clock: ManualClock, _ log: CapturedLog) async throws -> PostgresStore {
        try await PostgresStore.open(
            .init(connection: connection, connectionsMax: 1, clock: clock), logger: log.logger, migrate: false)
    }
}

/// A database whose rows a test may damage.
struct DamageableStore {
    let fixture: TestStore
    /// Another store on the same database, that remembers nothing.
    let neighbour: any Store
    let log: CapturedLog
    let bytes: (String) -> String
    let run: (String) async throws -> Void

    var store: any Store { fixture.store }
    /// The test store as the neighbour sees it.
    var blank: TestStore { fixture.seen(by: neighbour) }

    /// Sets the column in all rows.
    func damage(_ table: String, _ column: String, _ hex: String, where rows: String = "true") async throws {
        try await run("UPDATE \(table) SET \(column) = \(bytes(hex)) WHERE \(rows)")
    }

    var complaints: Int { log.lines(atLeast: .error).count }
}
