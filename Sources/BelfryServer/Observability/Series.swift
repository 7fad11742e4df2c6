import CoreMetrics
import Synchronization

/// One or more lines of the metrics page.
protocol Series: AnyObject, Sendable {
    var type: String { get }
    func write(_ name: SeriesName, to text: inout String)
}

final class CounterSeries: Series, CounterHandler {
    private let value = Atomic<Int64>(0)

    let type = "counter"

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(_ name: SeriesName, to text: inout String) {
        text += "\(name.metric)\(name.labels) \(value.load(ordering: .relaxed))\n"
    }
}

final class GaugeSeries: Series, MeterHandler {
    private let value = Mutex(0.0)

    let type = "gauge"

    func set(_ new: Int64) { value.withLock { $0 = Double(new) } }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    func write(_ name: SeriesName, to text: inout String) {
        text += "\(name.metric)\(name.labels) \(value.withLock { $0 })\n"
    }
}

/// Count and sum, which give rate and mean over any interval.
final class SummarySeries: Series, RecorderHandler {
    private struct State {
        var count: Int64 = 0
        var sum = 0.0
    }

    private let state = Mutex(State())

    let type = "summary"

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        state.withLock { state in
            state.count += 1
            state.sum += value
        }
    }

    func write(_ name: SeriesName, to text: inout String) {
        let (count, sum) = state.withLock { ($0.count, $0.sum) }
        text += "\(name.metric)_count\(name.labels) \(count)\n\(name.metric)_sum\(name.labels) \(sum)\n"
    }
}
