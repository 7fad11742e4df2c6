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
