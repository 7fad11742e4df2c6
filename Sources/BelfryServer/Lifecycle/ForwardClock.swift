package import BelfryService
import Foundation
package import Logging
import Synchronization

/// The machine's clock, except that for this process it never goes back.
///
/// Due times in a local database use this clock. If the machine's clock were set back an hour, due work would wait that
/// hour. So the process keeps a time of its own, at half the speed, until the machine's has caught up.
package final class ForwardClock: WallClock {
    private let time: Mutex<ForwardTime>
    private let wall = SystemClock()
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
        time = Mutex(ForwardTime(wall: wall.now, steady: .now))
    }

    package var now: Instant {
        let (now, change) = time.withLock { $0.read(wall: wall.now, steady: .now) }
        switch change {
        case nil: break
        case .wentBack(let setback)?:
            logger.error(
                "the machine's clock went back; this server keeps its own time, at half the speed, until it has caught up",
                metadata: ["by": "\(setback)"])
        case .caughtUp?: logger.info("the machine's clock has caught up")
        }
        return now
    }

    package func sleep(for duration: Duration) async throws { try await wall.sleep(for: duration) }
}

/// A time that follows a wall clock forward and never back.
package struct ForwardTime: Sendable {
    package enum Change: Sendable, Hashable {
        case wentBack(Duration)
        case caughtUp
    }

    /// The last accepted reading of the wall clock, or the time when that went back.
    private var anchor: (wall: Instant, steady: ContinuousClock.Instant)
    private var last: Instant
    private var isAhead = false

    /// A smaller correction of the clock is followed; the time stands still that long.
    private static let tolerance = Duration.seconds(1)

    package init(wall: Instant, steady: ContinuousClock.Instant) {
        anchor = (wall, steady)
        last = wall
    }

    package mutating func read(wall: Instant, steady: ContinuousClock.Instant) -> (now: Instant, change: Change?) {
        let elapsed = anchor.steady.duration(to: steady)
        let own = anchor.wall + (isAhead ? elapsed / 2 : elapsed)
        let setback = own - wall
        var change: Change?
        if setback > Self.tolerance {
            if !isAhead {
                change = .wentBack(setback)
                anchor = (own, steady)
            }
            isAhead = true
            last = max(last, own)
        } else {
            if isAhead { change = .caughtUp }
            isAhead = false
            anchor = (wall, steady)
            last = max(last, wall)
        }
        return (last, change)
    }
}

package struct SystemClock: WallClock {
    package init() {}

    package var now: Instant { Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))) }

    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
