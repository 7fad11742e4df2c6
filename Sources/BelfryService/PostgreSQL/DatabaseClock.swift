import Synchronization

/// The time of the database, which all nodes share whatever their own clocks say.
///
/// Between two readings of the database it advances with this machine's monotonic clock.
final class DatabaseClock: WallClock {
    private struct Mark {
        let time: Instant
        let at: ContinuousClock.Instant
    }

    private let mark: Mutex<Mark>

    init(_ time: Instant) { mark = Mutex(Mark(time: time, at: .now)) }

    var now: Instant {
        mark.withLock { $0.time + $0.at.duration(to: .now) }
    }

    /// Called with each time that the database returned, right after it did.
    func note(_ time: Instant) { mark.withLock { $0 = Mark(time: time, at: .now) } }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
