import CoreMetrics
import Synchronization

/// The number of values at or below each of a few bounds, which give quantiles over any interval and any number of
/// nodes.
///
/// Source: Prometheus, "Metric types", histogram.
final class HistogramSeries: Series, TimerHandler {
    /// In seconds: from a fast transaction to a request that has timed out. Prometheus' usual buckets, and a few on
    /// either side.
    static let durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    /// In seconds: for work that waits behind a broadcast, or for a server that was down.
    static let ageBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]

    /// The timers for the age of something; all others are for durations.
    private static let ages: Set = [
        "belfry_push_delivery_seconds", "belfry_batch_age_seconds", "belfry_schedule_late_seconds",
    ]

    private static func bounds(of metric: String) -> [Double] { ages.contains(metric) ? ageBounds : durationBounds }

    private struct State {
        /// Not cumulative; one more than there are bounds.
        var counts: [Int64]
        var sum = 0.0
    }

    private let state: Mutex<State>
    private let bounds: [Double]
    /// One more than there are bounds.
    private let bucketLines: [String]
    private let countLine: String
    private let sumLine: String

    let type = "histogram"

    init(_ name: SeriesName) {
        bounds = Self.bounds(of: name.metric)
        bucketLines = (bounds.map { "\($0)" } + ["+Inf"]).map { name.line("_bucket", "le=\"\($0)\"") }
        (countLine, sumLine) = (name.line("_count"), name.line("_sum"))
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

    func write(to text: inout String) {
        let state = state.withLock { $0 }
        var total: Int64 = 0
        for (line, count) in zip(bucketLines, state.counts) {
            total += count
            text.appendSample(line, total)
        }
        text.appendSample(sumLine, state.sum)
        text.appendSample(countLine, total)
    }
}
