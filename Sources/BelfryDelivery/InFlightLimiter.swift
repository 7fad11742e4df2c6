import BelfryService
import Synchronization

/// Counts what is in flight: bursts by platform, against the budget, and their batches.
final class InFlightLimiter: Sendable {
    private struct State {
        var budget: InFlightBudget
        var batches = 0
    }

    private let state: Mutex<State>

    init(_ budget: InFlightBudget) { state = Mutex(State(budget: budget)) }

    /// The share that may be claimed now; nil for nothing.
    func share(of pace: InFlightBudget.Pace) -> InFlightBudget.Share? { state.withLock { $0.budget.share(of: pace) } }

    var batches: Int { state.withLock { $0.batches } }

    /// - Parameter burst: batches of one platform.
    func take(_ burst: [Batch]) {
        state.withLock { state in
            state.budget.take(burst[0].platformKey)
            state.batches += burst.count
        }
        Metric.batchesInFlight(changedBy: burst.count)
    }

    func release(_ burst: [Batch], after stay: Duration) {
        state.withLock { state in
            state.budget.release(burst[0].platformKey, after: stay)
            state.batches -= burst.count
        }
        Metric.batchesInFlight(changedBy: -burst.count)
    }
}
