import BelfryService
import Synchronization

/// Backs off from a service that throttles its sender: nothing is sent before the wait is over.
///
/// If more than half of a batch is throttled for the sender as a whole, further requests would be refused too.
final class SenderBackOff: Sendable {
    private let waitsUntil = Mutex(Instant.distantPast)

    func isTried(at now: Instant) -> Bool { waitsUntil.withLock { now < $0 } }

    /// - Parameters:
    ///   - waits: the waits that apply to the sender, in the answers of one batch.
    ///   - count: the number of devices in the batch.
    func heed(_ waits: [Duration], of count: Int, at now: Instant) {
        guard waits.count > 1, waits.count * 2 > count, let longest = waits.max() else { return }
        waitsUntil.withLock { $0 = max($0, now + longest) }
    }
}
