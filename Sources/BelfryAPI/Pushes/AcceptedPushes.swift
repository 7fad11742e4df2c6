import BelfryService
import Logging
import Metrics

/// Writes a line for each accepted push, which leads from the trace of a caller to the log of the delivery.
struct AcceptedPushes: Sendable {
    func note(_ push: Push, _ logger: Logger) {
        logger.debug(
            "push accepted",
            metadata: [
                "push.key": "\(push.key)", "push.receipt_id": "\(push.receiptID.lowercased)",
                "push.lane": "\(push.lane)",
            ])
    }
}

/// Counts accepted pushes by lane.
struct AcceptedPushCounter: PushObserver {
    private let counters = Dictionary(
        uniqueKeysWithValues: Lane.allCases.map { ($0, Counter(metric: .pushes, [("lane", "\($0)")])) })

    func accepted(_ push: PushHead) { counters[push.lane]?.increment() }

    func pushMayHaveChanged(_ push: PushHead) {}
}
