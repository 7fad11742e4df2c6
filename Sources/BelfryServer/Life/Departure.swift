import BelfryCore
import ServiceLifecycle
import Synchronization

/// The way out of a server: it is told first that the server is to stop.
///
/// From then on the server says that it is not ready, and claims no more work; what is in the air comes down while the doors
/// are still open. After a moment for load balancers to look elsewhere, the doors close.
final class Departure: Service {
    private let hasBegun = Atomic(false)
    private let clock: any WallClock
    private let notice: Duration
    private let onBegin: @Sendable () async -> Void

    /// - Parameters:
    ///   - notice: how long the doors stay open.
    ///   - onBegin: to be done at once.
    init(clock: any WallClock, notice: Duration, onBegin: @escaping @Sendable () async -> Void) {
        self.clock = clock
        self.notice = notice
        self.onBegin = onBegin
    }

    var isUnderWay: Bool { hasBegun.load(ordering: .acquiring) }

    func run() async {
        do { try await gracefulShutdown() } catch { return }
        hasBegun.store(true, ordering: .releasing)
        await onBegin()
        // Ends early when the server runs out of time.
        try? await clock.sleep(for: notice)
    }
}
