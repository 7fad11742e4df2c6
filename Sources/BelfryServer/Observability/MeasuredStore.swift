import BelfryCore
import Metrics

/// Measures how a store's writes fare.
struct MeasuredStore: StoreObserver {
    private let waiting: Meter
    private let seconds: Metrics.Timer

    /// - Parameter store: `sqlite` or `postgres`.
    init(_ store: String) {
        waiting = Metric.storeWritesWaiting(store)
        seconds = Metric.storeTransactionSeconds(store)
    }

    func writesWaiting(_ count: Int) { waiting.set(count) }

    func transactionEnded(after duration: Duration) { seconds.record(duration: duration) }
}
