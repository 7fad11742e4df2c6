import BelfryCore
import Synchronization

/// Heeds a service that has had enough of its sender: nothing leaves before the wait is over.
///
/// Where more than half of a batch are told to wait for the sender's sake, each further request would only be refused
/// as well.
final class SenderBackOff: Sendable {
    private let waitsUntil = Mutex(Instant.distantPast)

    func isTried(at now: Instant) -> Bool { waitsUntil.withLock { now < $0 } }

    /// - Parameters:
    ///   - waits: what was asked for the sender's sake, in the answers of one batch.
    ///   - count: how many devices the batch had.
    func heed(_ waits: [Duration], of count: Int, at now: Instant) {
        guard waits.count > 1, waits.count * 2 > count, let longest = waits.max() else { return }
        waitsUntil.withLock { $0 = max($0, now + longest) }
    }
}
