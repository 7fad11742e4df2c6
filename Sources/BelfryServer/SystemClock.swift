package import BelfryCore
import Foundation

/// The machine's own clock.
package struct SystemClock: WallClock {
    package init() {}

    package var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}
