package import BelfryService
import Foundation

/// The machine's own clock.
package struct SystemClock: WallClock {
    package init() {}

    package var now: Instant { Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))) }

    package func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}
