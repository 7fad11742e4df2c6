import BelfryCore
import ServiceLifecycle
import Synchronization

/// The way out of a server: it is told first that the server is to stop.
///
/// From then on the server says that it is not ready, and claims no more work; what is in flight is finished while the
/// listeners are still open. After a moment for load balancers to look elsewhere, the listeners close.
final class GracefulShutdown: Service {
    private let begunAt = Mutex<ContinuousClock.Instant?>(nil)
    private let clock: any WallClock
    private let delay: Duration
    private let onBegin: @Sendable () -> Void

    /// - Parameters:
    ///   - delay: how long the listeners stay open.
    ///   - onBegin: to be done at once.
    init(clock: any WallClock, delay: Duration, onBegin: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.delay = delay
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
        try? await clock.sleep(for: delay)
    }
}
