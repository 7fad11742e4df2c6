package import Logging
import Metrics
import ServiceLifecycle

/// The amount that a command on the server's machine added to one series of the metrics.
package struct CommandCount: Sendable, Hashable {
    package let series: Series
    package let amount: Int64

    package struct Series: Sendable, Hashable {
        package let metric: String
        package let labels: [Label]

        package init(_ metric: String, _ labels: [Label]) {
            self.metric = metric
            self.labels = labels
        }
    }

    package struct Label: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(_ series: Series, _ amount: Int64) {
        self.series = series
        self.amount = amount
    }
}

extension CommandCount.Series {
    /// The stored form of the labels: a line each, name and value with `=` between them.
    package var labelText: String { labels.map { "\($0.name)=\($0.value)" }.joined(separator: "\n") }

    package init(_ metric: String, labelText: String) {
        self.init(
            metric,
            labelText.split(separator: "\n").map { line in
                let name = line.prefix { $0 != "=" }
                return CommandCount.Label(String(name), String(line.dropFirst(name.count + 1)))
            })
    }
}

extension Store {
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

extension Schema {
    static let commandCount = SchemaPart(
        [StoreTable("command_count", rows: .operators, key: "metric, labels", isCopied: false)],
        sql: """
            -- What commands counted, until a server takes it into its metrics; see `CommandCount`.
            CREATE TABLE command_count (
                metric text NOT NULL,
                labels text NOT NULL,
                amount \(.bigint) NOT NULL CHECK (amount > 0),
                PRIMARY KEY (metric, labels)
            ) \(.byKey);
            """)
}

/// Takes what commands beside this server counted into its metrics.
package struct CommandCountCollector: Service {
    private let store: any Store
    private let task: PeriodicTask

    package static let pause = Duration.seconds(5)

    package init(store: any Store, clock: any WallClock, logger: Logger) {
        self.store = store
        task = PeriodicTask(name: "command counts", clock: clock, pause: Self.pause, logger: logger)
    }

    package func run() async {
        await task.run {
            for count in try await store.takeCommandCounts() {
                let labels = count.series.labels.map { ($0.name, $0.value) }
                Counter(label: count.series.metric, dimensions: labels).increment(by: count.amount)
            }
        }
    }
}
