import BelfryService
import ServiceLifecycle
import Synchronization

/// The graceful shutdown of a server: the first service to be told that the server stops.
///
/// From then on the server reports that it is not ready, and claims no more work; what is in flight is finished while
/// the listeners are still open. After a delay for load balancers, the listeners close.
final class GracefulShutdown: Service {
    private let begunAt = Mutex<ContinuousClock.Instant?>(nil)
    private let clock: any WallClock
    private let delay: Duration
    private let onBegin: @Sendable () -> Void

    /// - Parameters:
    ///   - delay: how long the listeners stay open.
    ///   - onBegin: called at once.
    init(clock: any WallClock, delay: Duration, onBegin: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.delay = delay
        self.onBegin = onBegin
    }

    var isUnderWay: Bool { begunAt.withLock { $0 } != nil }

    /// Whether shutdown began at least `duration` ago.
    func hasLasted(_ duration: Duration) -> Bool {
        begunAt.withLock { $0.map { $0.duration(to: .now) >= duration } ?? false }
    }

    func run() async {
        do { try await gracefulShutdown() } catch { return }
        begunAt.withLock { $0 = .now }
        onBegin()
        // Ends early when the time limit of the server is reached.
        try? await clock.sleep(for: delay)
    }
}
