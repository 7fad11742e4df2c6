package import Logging
import ServiceLifecycle

/// Measures what waits: how many platforms are parked, and for how long the batch that is due longest has been due.
package struct BacklogMonitor: Service {
    private let store: any ApplicationStore & DeliveryStore
    private let task: PeriodicTask

    package static let pause = Duration.seconds(2)
    /// No more are counted.
    private static let parkedMax = 10_000

    package init(store: any ApplicationStore & DeliveryStore, clock: any WallClock, logger: Logger) {
        self.store = store
        task = PeriodicTask(name: "backlog", clock: clock, pause: Self.pause, logger: logger)
    }

    package func run() async {
        await task.run { try await measure() }
    }

    private func measure() async throws {
        let platforms = try await store.parkedPlatforms(atMost: Self.parkedMax)
        let parked = platforms.count { $0.parked != nil }
        let services = platforms.reduce(0) { $0 + $1.parkedServices.count }
        let oldest = try await store.nextDue().map { max(.zero, task.clock.now - $0) } ?? .zero
        DeliveryMetric.backlog(parked: parked, services: services, oldest: oldest)
    }
}
