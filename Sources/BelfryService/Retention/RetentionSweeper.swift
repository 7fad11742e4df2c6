package import Logging
import ServiceLifecycle

/// Deletes expired rows in short steps with a pause after each, so that other writes run in between.
///
/// Each node does so at its own times; where nodes share a store, a step of one leaves less for the others.
package struct RetentionSweeper: Service {
    private let store: any Store
    private let clock: any WallClock
    private let options: Options
    private let logger: Logger

    package struct Options: Sendable {
        /// How long everything is kept.
        package var retention: Retention
        /// The pause between two rounds.
        package var pause = Duration.seconds(600)
        /// The pause between two steps of a round.
        package var stepPause = Duration.milliseconds(50)

        package init(retention: Retention = Retention()) { self.retention = retention }
    }

    package init(store: any Store, clock: any WallClock, options: Options, logger: Logger) {
        self.store = store
        self.clock = clock
        self.options = options
        self.logger = logger
    }

    package func run() async throws {
        await PeriodicTask(name: "retention", clock: clock, pause: options.pause, logger: logger).run {
            try await round()
        }
    }

    /// Deletes everything that has expired by now.
    package func round() async throws {
        let now = clock.now
        var fault: (any Error)?
        for kind in Retention.Kind.allCases {
            guard let before = options.retention.bound(of: kind, at: now) else { continue }
            // One kind holds back no other.
            do { try await sweep(kind, before: before) } catch let error where !(error is CancellationError) {
                fault = fault ?? error
            }
        }
        if let fault { throw fault }
    }

    private func sweep(_ kind: Retention.Kind, before: Instant) async throws {
        while true {
            let deleted = try await store.deleteExpired(kind, before: before)
            DeliveryMetric.rowsDeleted(kind, deleted.rows)
            guard deleted.isMore else { return }
            try await clock.sleep(for: options.stepPause)
        }
    }
}
