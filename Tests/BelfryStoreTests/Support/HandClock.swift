import BelfryCore
import Synchronization

/// A clock that stands until it is moved.
final class HandClock: WallClock {
    private let time = Mutex(Instant(milliseconds: 1_700_000_000_000))

    var now: Instant { time.withLock(\.self) }

    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }

    func sleep(for duration: Duration) async throws {
        advance(by: duration)
        try Task.checkCancellation()
    }
}
