package import BelfryService
package import CoreMetrics
import Synchronization

/// Keeps what a command counts, since its process has no metrics page: a server on the same database takes it into its own.
package final class CommandMetrics: MetricsFactory {
    private let counts = Mutex<[CommandCount.Series: Int64]>([:])

    private init() {}

    /// The metrics of this process, into which all counters count from now on. Not for a process that serves metrics itself.
    package static let ofProcess: CommandMetrics = {
        let metrics = CommandMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()

    /// Returns the counts since the last call, and resets them.
    package func taken() -> [CommandCount] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts.map { CommandCount($0.key, $0.value) }
        }
    }

    fileprivate func add(_ amount: Int64, to series: CommandCount.Series) {
        guard amount > 0 else { return }
        counts.withLock { $0[series, default: 0] += amount }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let labels = dimensions.map { CommandCount.Label($0.0, $0.1) }
        return KeptCounter(metrics: self, series: CommandCount.Series(label, labels))
    }

    // Gauges and durations are of a process, and mean nothing in another.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        NOOPMetricsHandler.instance.makeMeter(label: label, dimensions: dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance.makeTimer(label: label, dimensions: dimensions)
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

private final class KeptCounter: CounterHandler {
    private let metrics: CommandMetrics
    private let series: CommandCount.Series

    init(metrics: CommandMetrics, series: CommandCount.Series) {
        self.metrics = metrics
        self.series = series
    }

    func increment(by amount: Int64) { metrics.add(amount, to: series) }
    func reset() {}
}
