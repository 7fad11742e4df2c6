import GRDB
import GRDBSQLite
import PostgreSQL
import Synchronization

/// Searches many rows on its own connections, so that no search takes a reader from deliveries.
///
/// Applications take turns, and none gets all connections. Each search has a `SearchBudget`.
final class SQLiteSearchConnection: Sendable {
    private let connections: [DatabaseQueue]
    private let free: Free
    /// The limit on each search.
    let longest: Duration
    private let turns = FairQueue(
        FairTurns<Key<Application>?>(
            places: SQLiteSearchConnection.placesMax, waitingMax: SQLiteSearchConnection.waitingMax))

    private static let placesMax = 2
    /// Further callers are turned away beyond this queue. The API admits fewer.
    private static let waitingMax = 64

    init(path: String, longest: Duration) throws {
        self.longest = longest
        connections = try (0..<Self.placesMax).map { number in
            var configuration = Configuration()
            configuration.label = "belfry.store.searchConnection.\(number)"
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { try $0.execute(sql: PragmaStatements.reader) }
            return try DatabaseQueue(path: path, configuration: configuration)
        }
        free = Free(connections)
    }

    func close() throws { for directory in connections { try directory.close() } }

    /// Runs `body` with a snapshot, when it is the application's turn.
    ///
    /// - Parameter application: the application whose rows are searched; nil when there are none.
    func search<Value: Sendable>(
        for application: Key<Application>?,
        _ body: @Sendable @escaping (Database, SearchBudget) throws -> Value
    ) async throws -> Value {
        try await turns.run(for: application) {
            let directory = try free.take()
            defer { free.giveBack(directory) }
            return try await directory.read(within: SearchBudget(longest), body)
        }
    }

    /// The idle connections.
    private final class Free: Sendable {
        private let connections: Mutex<[DatabaseQueue]>

        init(_ connections: [DatabaseQueue]) { self.connections = Mutex(connections) }

        func take() throws -> DatabaseQueue {
            // As many as there are turns.
            guard let directory = connections.withLock({ $0.popLast() }) else {
                throw StoreError.overloaded(retryAfter: .seconds(1))
            }
            return directory
        }

        func giveBack(_ directory: DatabaseQueue) { connections.withLock { $0.append(directory) } }
    }
}

extension DatabaseReader {
    /// Reads from a snapshot until the budget is spent, which interrupts statements, or the task is cancelled.
    func read<Value: Sendable>(
        within budget: SearchBudget, _ body: @Sendable @escaping (Database, SearchBudget) throws -> Value
    ) async throws -> Value {
        do {
            return try await withTaskCancellationHandler {
                try await read { db in try db.bounded(by: budget) { try body(db, budget) } }
            } onCancel: {
                budget.cancel()
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            try budget.check()
            throw error.asStoreError
        } catch {
            throw error.asStoreError
        }
    }
}

extension Database {
    /// The number of SQLite's virtual machine instructions between two checks of the budget; some ten microseconds.
    private static var stepsBetweenLooks: Int32 { 2_000 }

    /// Source: sqlite.org/c3ref/progress_handler.html.
    fileprivate func bounded<Value>(by budget: SearchBudget, _ body: () throws -> Value) throws -> Value {
        try budget.check()
        let connection = sqliteConnection
        // The budget outlives the handler: this call retains it.
        let context = Unmanaged.passUnretained(budget).toOpaque()
        sqlite3_progress_handler(
            connection, Self.stepsBetweenLooks,
            { context in
                guard let context else { return 0 }
                return Unmanaged<SearchBudget>.fromOpaque(context).takeUnretainedValue().isSpent ? 1 : 0
            }, context)
        defer { sqlite3_progress_handler(connection, 0, nil, nil) }
        return try withExtendedLifetime(budget) { try body() }
    }
}

/// Searches many rows on its own connections, so that no search takes one from deliveries.
///
/// Applications take turns, and none gets all connections. Each search has a `SearchBudget`.
final class PostgresSearchConnection: Sendable {
    private let pool: ConnectionPool
    /// The limit on each search.
    let longest: Duration
    private let turns = FairQueue(
        FairTurns<Key<Application>?>(
            places: PostgresSearchConnection.placesMax, waitingMax: PostgresSearchConnection.waitingMax))

    static let placesMax = 2
    /// Further callers are turned away beyond this queue. The API admits fewer.
    private static let waitingMax = 64

    init(_ options: ConnectionOptions, longest: Duration) {
        self.longest = longest
        pool = ConnectionPool(options, size: Self.placesMax, waitingMax: Self.placesMax)
    }

    func close() async { await pool.close() }

    /// Runs `body` with a snapshot, when it is the application's turn.
    ///
    /// - Parameter application: the application whose rows are searched; nil when there are none.
    func search<Value: Sendable>(
        for application: Key<Application>?,
        _ body: @Sendable @escaping (Connection, SearchBudget) throws -> Value
    ) async throws -> Value {
        try await turns.run(for: application) {
            let budget = SearchBudget(longest)
            do {
                return try await withTaskCancellationHandler {
                    try await pool.run { try $0.bounded(by: budget, body) }
                } onCancel: {
                    budget.cancel()
                }
            } catch let error as PostgresError where error.sqlState == .queryCanceled {
                try budget.check()
                throw error.asStoreError
            } catch {
                throw error.asStoreError
            }
        }
    }
}

extension Connection {
    /// The database ends a statement that takes longer than a whole search may; between statements the budget is
    /// checked.
    fileprivate func bounded<Value>(
        by budget: SearchBudget, _ body: (Connection, SearchBudget) throws -> Value
    ) throws -> Value {
        try budget.check()
        try begin(PostgresSessionStatements.snapshot)
        try prepared(PostgresSessionStatements.searchDeadline).send()
        let value = try body(self, budget)
        try prepared(PostgresSessionStatements.commit).run()
        return value
    }
}
