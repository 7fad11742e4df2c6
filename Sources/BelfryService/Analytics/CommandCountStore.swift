/// Keeps the counts of commands that run beside a server, until a server adds them to its metrics.
package protocol CommandCountStore: Sendable {
    func add(_ counts: [CommandCount]) async throws
    /// Returns and removes the counts added since the last call; where nodes share the database, one of them gets each count.
    func takeCommandCounts() async throws -> [CommandCount]
}
