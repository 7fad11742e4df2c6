import BelfryCore
import Logging
import Metrics

/// Records accepted pushes: a count by lane, and a line that leads from the trace of a caller to the log of the
/// delivery.
struct AcceptedPushes: Sendable {
    private let counters = Dictionary(
        uniqueKeysWithValues: Lane.allCases.map { ($0, Counter(metric: .pushes, [("lane", "\($0)")])) })

    func note(_ push: Push, _ logger: Logger) {
        counters[push.lane]?.increment()
        logger.debug(
            "push accepted",
            metadata: [
                "push.key": "\(push.key)", "push.receipt_id": "\(push.receiptID.lowercased)",
                "push.lane": "\(push.lane)",
            ])
    }
}
