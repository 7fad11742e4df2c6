import BelfryCore
import PostgreSQL

/// Searches on a connection of its own, one at a time, so that no search takes one from those who deliver.
final class Librarian: Sendable {
    private let pool: ConnectionPool

    /// Those who come while so many wait are sent away.
    private static let waitingMax = 16
    /// The longest one search may take.
    private static let patience = Duration.seconds(5)

    init(_ options: ConnectionOptions) {
        pool = ConnectionPool(options, size: 1, waitingMax: Self.waitingMax)
    }

    func close() async { await pool.close() }

    /// Runs `body` with a snapshot and the moment at which it has to give up.
    func search<Value: Sendable>(
        _ body: @Sendable @escaping (Connection, ContinuousClock.Instant) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.run { connection in
                try connection.prepared(SessionStatements.snapshot).send()
                let value = try body(connection, .now + Self.patience)
                try connection.prepared(SessionStatements.commit).run()
                return value
            }
        } catch {
            throw error.asStoreError
        }
    }
}
