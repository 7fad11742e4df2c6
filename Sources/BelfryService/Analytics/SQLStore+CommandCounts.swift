extension SQLStore {
    package func add(_ counts: [CommandCount]) async throws {
        guard !counts.isEmpty else { return }
        try await write { session in
            let statement = try session.prepared(CommandCountStatements.add)
            for count in counts {
                try statement.run(count.series.metric, count.series.labelText, count.amount)
            }
        }
    }

    /// Writes nothing where nothing was added, as is usual.
    package func takeCommandCounts() async throws -> [CommandCount] {
        guard try await readCommitted({ try $0.prepared(CommandCountStatements.any).hasRow() }) else { return [] }
        return try await write { session in
            try session.prepared(CommandCountStatements.take).all { row in
                CommandCount(CommandCount.Series(row.text(0), labelText: row.text(1)), row.integer(2))
            }
        }
    }
}

enum CommandCountStatements {
    static let add: SQLText = """
        INSERT INTO command_count /* command_counts.add */ (metric, labels, amount) VALUES ($1, $2, $3)
            ON CONFLICT (metric, labels) DO UPDATE SET amount = command_count.amount + excluded.amount
        """

    static let any: SQLText = "SELECT 1 /* command_counts.any */ FROM command_count LIMIT 1"

    static let take: SQLText = """
        DELETE FROM command_count /* command_counts.take */ RETURNING metric, labels, amount
        """
}
