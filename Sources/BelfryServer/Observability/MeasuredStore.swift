import BelfryService
import Metrics

/// Records measurements of a store's writes as metrics.
struct MeasuredStore: StoreObserver {
    private let waiting: Meter
    private let seconds: Metrics.Timer
    private let unmirrored = Metric.unmirrored()

    /// - Parameter store: `sqlite` or `postgres`.
    init(_ store: String) {
        waiting = Metric.storeWritesWaiting(store)
        seconds = Metric.storeTransactionSeconds(store)
    }

    func writesWaiting(_ count: Int) { waiting.set(count) }

    func transactionEnded(after duration: Duration) { seconds.record(duration: duration) }

    func unmirrored(_ count: Int) { unmirrored.increment(by: count) }
}
