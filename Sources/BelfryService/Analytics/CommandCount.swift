/// The amount that a command on the server's machine added to one series of the metrics.
package struct CommandCount: Sendable, Hashable {
    package let series: Series
    package let amount: Int64

    /// A counter with its labels.
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
