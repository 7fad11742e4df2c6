import CoreMetrics
import Synchronization

/// How many values lie at or below each of a few bounds, which give quantiles over any interval and any number of nodes.
///
/// Source: Prometheus, "Metric types", histogram.
final class HistogramSeries: Series, TimerHandler {
    /// In seconds: from a quick transaction to a request that has run out of time.
    static let latencyBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    /// The timers that are histograms; of the others count and sum are kept.
    static let names: Set = ["belfry_event_loop_lag_seconds", "belfry_store_transaction_seconds"]

    private struct State {
        /// Not summed up; one more than there are bounds.
        var counts: [Int64]
        var sum = 0.0
    }

    private let state: Mutex<State>
    private let bounds: [Double]

    let type = "histogram"

    init(bounds: [Double] = latencyBounds) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) / 1e9
        let bucket = bounds.firstIndex { seconds <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += seconds
        }
    }

    func write(_ name: SeriesName, to text: inout String) {
        let state = state.withLock { $0 }
        var total: Int64 = 0
        for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], state.counts) {
            total += count
            text += "\(name.metric)_bucket\(name.labels(and: "le", bound)) \(total)\n"
        }
        text += "\(name.metric)_sum\(name.labels) \(state.sum)\n\(name.metric)_count\(name.labels) \(total)\n"
    }
}
