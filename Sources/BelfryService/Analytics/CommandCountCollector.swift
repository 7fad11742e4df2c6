package import Logging
import Metrics
import ServiceLifecycle

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
