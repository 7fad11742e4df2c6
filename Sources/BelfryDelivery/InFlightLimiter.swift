import BelfryCore
import Synchronization

/// Counts the batches in flight, by platform.
final class InFlightLimiter: Sendable {
    private let budget: Mutex<InFlightBudget>

    init(_ budget: InFlightBudget) { self.budget = Mutex(budget) }

    /// The share that may be claimed now; nil for nothing.
    func share(of pace: InFlightBudget.Pace) -> InFlightBudget.Share? { budget.withLock { $0.share(of: pace) } }

    var batches: Int { budget.withLock { $0.batchesInFlight } }

    func take(_ batch: Batch) {
        budget.withLock { $0.take(batch.platformKey) }
        Metric.batchTaken()
    }

    func release(_ batch: Batch, after stay: Duration) {
        budget.withLock { $0.release(batch.platformKey, after: stay) }
        Metric.batchLanded()
    }
}
