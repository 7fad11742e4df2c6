import PostgreSQL

/// Searches many rows on its own connections, so that no search takes one from deliveries.
///
/// Applications take turns, and none gets all connections. Each search has a `SearchBudget`.
final class PostgresSearchConnection: Sendable {
    private let pool: ConnectionPool
    private let turns = FairQueue(
        FairTurns<Key<Application>?>(
            places: PostgresSearchConnection.placesMax, waitingMax: PostgresSearchConnection.waitingMax))

    static let placesMax = 2
    /// Further callers are turned away beyond this queue. The API admits fewer.
    private static let waitingMax = 64

    init(_ options: ConnectionOptions) {
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
            let budget = SearchBudget()
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
