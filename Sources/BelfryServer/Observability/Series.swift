import CoreMetrics
import Synchronization

/// One or more lines of the metrics page. What precedes a value is put together once: there are hundreds of lines, and
/// Prometheus comes every few seconds.
protocol Series: AnyObject, Sendable {
    var type: String { get }
    func write(to text: inout String)
}

extension String {
    /// - Parameter line: up to the value.
    mutating func appendSample(_ line: String, _ value: some CustomStringConvertible) {
        self += line
        self += value.description
        self += "\n"
    }
}

final class CounterSeries: Series, CounterHandler {
    private let value = Atomic<Int64>(0)
    private let line: String

    let type = "counter"

    init(_ name: SeriesName) { line = name.line() }

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(to text: inout String) { text.appendSample(line, value.load(ordering: .relaxed)) }
}

final class GaugeSeries: Series, MeterHandler {
    private let value = Mutex(0.0)
    private let line: String

    let type = "gauge"

    init(_ name: SeriesName) { line = name.line() }

    func set(_ new: Int64) { value.withLock { $0 = Double(new) } }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    func write(to text: inout String) { text.appendSample(line, value.withLock { $0 }) }
}

/// Count and sum, which give rate and mean over any interval.
final class SummarySeries: Series, RecorderHandler {
    private struct State {
        var count: Int64 = 0
        var sum = 0.0
    }

    private let state = Mutex(State())
    private let countLine: String
    private let sumLine: String

    let type = "summary"

    init(_ name: SeriesName) { (countLine, sumLine) = (name.line("_count"), name.line("_sum")) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        state.withLock { state in
            state.count += 1
            state.sum += value
        }
    }

    func write(to text: inout String) {
        let state = state.withLock { $0 }
        text.appendSample(countLine, state.count)
        text.appendSample(sumLine, state.sum)
    }
}

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
        "belfry_webhook_event_age_seconds",
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
