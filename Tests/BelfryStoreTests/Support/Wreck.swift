import BelfryCore
import BelfryStore
import BelfryTesting
import GRDB
import Logging
import PostgreSQL

/// The engines whose rows can be damaged.
enum Hull: String, CaseIterable, Sendable {
    case sqlite, postgres

    static let allCases = Engine.allCases.compactMap { Hull(rawValue: $0.rawValue) }

    /// Runs `body` with an empty database.
    func wreck(_ body: (Wreck) async throws -> Void) async throws {
        switch self {
        case .sqlite: try await wreckSQLite(body)
        case .postgres: try await wreckPostgres(body)
        }
    }

    /// Bytes, as a statement has them.
    func bytes(_ hex: String) -> String {
        switch self {
        case .sqlite: "x'\(hex)'"
        case .postgres: "'\\x\(hex)'"
        }
    }

    private func wreckSQLite(_ body: (Wreck) async throws -> Void) async throws {
        try await withDirectory { directory in
            let (book, clock, path) = (LogBook(), HandClock(), directory + "/belfry.sqlite")
            let stores = try (0..<2).map { _ in
                try SQLiteStore.open(
                    at: path, clock: clock, logger: book.logger, migrate: true)
            }
            try await body(
                Wreck(
                    scene: try await Scene(store: stores[0], clock: clock), neighbour: stores[1], book: book,
                    bytes: bytes
                ) { script in
                    var patient = Configuration()
                    patient.busyMode = .timeout(5)
                    let hand = try DatabaseQueue(path: path, configuration: patient)
                    try await hand.write { try $0.execute(sql: script) }
                    try hand.close()
                })
            for store in stores { try await store.close() }
        }
    }

    private func wreckPostgres(_ body: (Wreck) async throws -> Void) async throws {
        try await PostgresHall.withDatabase { connection in
            let (book, clock) = (LogBook(), HandClock())
            let stores = try await [open(connection, clock, book), open(connection, clock, book)]
            let hand = ConnectionPool(ConnectionOptions(connection), size: 1)
            let outcome: Swift.Result<Void, any Error>
            do {
                try await body(
                    Wreck(
                        scene: try await Scene(store: stores[0], clock: clock), neighbour: stores[1], book: book,
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

    private func open(_ connection: String, _ clock: HandClock, _ book: LogBook) async throws -> PostgresStore {
        try await PostgresStore.open(
            .init(connection: connection, connectionsMax: 1, clock: clock), logger: book.logger, migrate: false)
    }
}

/// A database whose rows a test may damage.
struct Wreck {
    let scene: Scene
    /// Another store on the same database, that remembers nothing.
    let neighbour: any Store
    let book: LogBook
    let bytes: (String) -> String
    let run: (String) async throws -> Void

    var store: any Store { scene.store }
    /// The scene by the eyes of the neighbour.
    var blank: Scene { scene.seen(by: neighbour) }

    /// Sets the column in all rows.
    func damage(_ table: String, _ column: String, _ hex: String, where rows: String = "true") async throws {
        try await run("UPDATE \(table) SET \(column) = \(bytes(hex)) WHERE \(rows)")
    }

    var complaints: Int { book.lines(atLeast: .error).count }
}
