package import BelfryService
package import Logging
import ServiceLifecycle

/// Deletes expired rows in short steps with a pause after each, so that other writes run in between.
///
/// Each node does so at its own times; where nodes share a store, a step of one leaves less for the others.
package struct RetentionSweeper: Service {
    private let store: any GeofenceStore & AnalyticsStore & RetentionStore
    private let clock: any WallClock
    private let options: Options
    private let logger: Logger

    package struct Options: Sendable {
        /// How long counts of events are kept; nil for ever.
        package var countsKept: Duration?
        /// How late an event may arrive and still be recognised as a repeat. Rounded up to whole days.
        package var eventsLateMax: Duration
        /// How long everything else is kept.
        package var retention: Retention
        /// The pause between two rounds.
        package var pause: Duration
        /// The pause between two steps of a round.
        package var stepPause: Duration

        package init(
            countsKept: Duration? = .seconds(90 * 86_400), eventsLateMax: Duration = .seconds(30 * 86_400),
            retention: Retention = Retention(), pause: Duration = .seconds(600), stepPause: Duration = .milliseconds(50)
        ) {
            self.countsKept = countsKept
            self.eventsLateMax = eventsLateMax
            self.retention = retention
            self.pause = pause
            self.stepPause = stepPause
        }
    }

    package init(
        store: any GeofenceStore & AnalyticsStore & RetentionStore, clock: any WallClock, options: Options,
        logger: Logger
    ) {
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
        let day = Duration.seconds(86_400)
        let countsBefore = options.countsKept.map { now + (.zero - $0) } ?? .zero
        try await inSteps {
            try await store.deleteExpiredAnalytics(
                countsBefore: countsBefore, eventsBefore: now + (.zero - options.eventsLateMax - day))
        }
        try await inSteps { try await store.deleteExpiredGeofenceDeletions(expiredBefore: now + (.zero - day)) }
        for kind in Retention.Kind.allCases {
            guard let before = options.retention.bound(of: kind, at: now) else { continue }
            try await inSteps {
                let deleted = try await store.deleteExpired(kind, before: before)
                Metric.rowsDeleted(kind, deleted.rows)
                return deleted.isMore
            }
        }
    }

    /// - Parameter step: returns whether another step may find more.
    private func inSteps(_ step: () async throws -> Bool) async throws {
        while try await step() { try await clock.sleep(for: options.stepPause) }
    }
}
