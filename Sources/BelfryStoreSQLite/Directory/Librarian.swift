import BelfryCore
import GRDB
import Synchronization

/// Searches on a connection of its own, one at a time, so that no search takes a reader from those who deliver.
final class Librarian: Sendable {
    private let queue: DatabaseQueue
    private let waiting = Atomic(0)

    /// Those who come while so many wait are sent away.
    private static let waitingMax = 16
    /// The longest one search may take.
    private static let patience = Duration.seconds(5)

    init(path: String) throws {
        var configuration = Configuration()
        configuration.label = "belfry.store.librarian"
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { try $0.execute(sql: PragmaStatements.reader) }
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    func close() throws { try queue.close() }

    /// Runs `body` with a snapshot and the moment at which it has to give up.
    func search<Value: Sendable>(
        _ body: @Sendable @escaping (Database, ContinuousClock.Instant) throws -> Value
    ) async throws -> Value {
        guard waiting.add(1, ordering: .relaxed).oldValue < Self.waitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            throw StoreError.overloaded(retryAfter: .seconds(1))
        }
        defer { waiting.subtract(1, ordering: .relaxed) }
        do {
            return try await queue.read { try body($0, .now + Self.patience) }
        } catch {
            throw error.asStoreError
        }
    }
}
