package import BelfryCore
package import Logging
import ServiceLifecycle

/// Forgets what is older than it has to be, a little at a time, so that other writes go on meanwhile.
package struct Archivist: Service {
    private let store: any GeofenceStore & AnalyticsStore
    private let clock: any WallClock
    private let options: Options
    private let logger: Logger

    package struct Options: Sendable {
        /// How long counts of events are kept.
        package var countsKept: Duration
        /// How long an event is known again, and so how late it may be told. More than that, since days are forgotten whole.
        package var eventsLateMax: Duration
        /// How long to wait between two looks.
        package var pause: Duration

        package init(
            countsKept: Duration = .seconds(90 * 86_400), eventsLateMax: Duration = .seconds(30 * 86_400),
            pause: Duration = .seconds(600)
        ) {
            self.countsKept = countsKept
            self.eventsLateMax = eventsLateMax
            self.pause = pause
        }
    }

    package init(
        store: any GeofenceStore & AnalyticsStore, clock: any WallClock, options: Options, logger: Logger
    ) {
        self.store = store
        self.clock = clock
        self.options = options
        self.logger = logger
    }

    package func run() async throws {
        await Rounds(clock: clock, pause: options.pause, logger: logger).run { try await round() }
    }

    /// Forgets all that is too old by now.
    package func round() async throws {
        let now = clock.now
        let day = Duration.seconds(86_400)
        while try await store.forgetAnalytics(
            countsBefore: now + (.zero - options.countsKept), eventsBefore: now + (.zero - options.eventsLateMax - day))
        {
            try Task.checkCancellation()
        }
        while try await store.forgetDeletedGeofences(expiredBefore: now + (.zero - day)) {
            try Task.checkCancellation()
        }
    }
}
