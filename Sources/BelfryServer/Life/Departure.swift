import BelfryCore
import ServiceLifecycle
import Synchronization

/// The way out of a server: it is told first that the server is to stop.
///
/// From then on the server says that it is not ready, and claims no more work; what is in the air comes down while the doors
/// are still open. After a moment for load balancers to look elsewhere, the doors close.
final class Departure: Service {
    private let begunAt = Mutex<ContinuousClock.Instant?>(nil)
    private let clock: any WallClock
    private let notice: Duration
    private let onBegin: @Sendable () -> Void

    /// - Parameters:
    ///   - notice: how long the doors stay open.
    ///   - onBegin: to be done at once.
    init(clock: any WallClock, notice: Duration, onBegin: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.notice = notice
        self.onBegin = onBegin
    }

    var isUnderWay: Bool { begunAt.withLock { $0 } != nil }

    /// Whether the server was told to stop so long ago.
    func hasLasted(_ duration: Duration) -> Bool {
        begunAt.withLock { $0.map { $0.duration(to: .now) >= duration } ?? false }
    }

    func run() async {
        do { try await gracefulShutdown() } catch { return }
        begunAt.withLock { $0 = .now }
        onBegin()
        // Ends early when the server runs out of time.
        try? await clock.sleep(for: notice)
    }
}
