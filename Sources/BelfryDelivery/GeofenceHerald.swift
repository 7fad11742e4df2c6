package import BelfryCore
import FoundationEssentials
package import Logging
import ServiceLifecycle

/// Tells devices that their geofences changed, by a push that shows nothing, and starts and ends geofences in time.
///
/// The notice is in the store since the change itself, and goes after its push is accepted: who dies between the two tells
/// the devices twice. Changes that follow on each other are one push (`GeofenceNews`). A parked platform keeps its notice
/// until it runs again, so however much changes meanwhile, one push waits for it.
package struct GeofenceHerald: Service {
    private let store: any ApplicationStore & PushStore & GeofenceStore
    private let clock: any WallClock
    private let poll: Duration
    private let logger: Logger

    /// Notices read at once.
    private static let noticesMax = 100

    package init(
        store: any ApplicationStore & PushStore & GeofenceStore, clock: any WallClock, poll: Duration = .seconds(1),
        logger: Logger
    ) {
        self.store = store
        self.clock = clock
        self.poll = poll
        self.logger = logger
    }

    package func run() async throws {
        await Rounds(clock: clock, pause: poll, logger: logger).run { try await round() }
    }

    /// Does all that is due by now.
    package func round() async throws {
        while try await store.turnGeofences() {}
        while true {
            let notices = try await store.dueGeofenceNotices(atMost: Self.noticesMax)
            for (application, notices) in Dictionary(grouping: notices, by: \.applicationKey) {
                try await announce(notices, of: application)
            }
            if notices.count < Self.noticesMax { return }
        }
    }

    private func announce(_ notices: [GeofenceNotice], of application: Key<Application>) async throws {
        var open: [GeofenceNotice] = []
        for notice in notices {
            switch try await store.platform(notice.platformKey) {
            case nil: try await store.settle(notice)
            case let platform? where platform.parked != nil:
                try await store.postpone(notice, for: GeofenceNews.parkedPause)
            case _?: open.append(notice)
            }
        }
        guard !open.isEmpty else { return }
        let push: Push
        do {
            push = try await accept(open, of: application)
        } catch StoreError.quotaExceeded {
            // An application that is full must not keep the devices of the others waiting.
            for notice in open { try await store.postpone(notice, for: GeofenceNews.parkedPause) }
            return
        }
        for notice in open { try await store.settle(notice) }
        Metric.geofencesAnnounced()
        logger.debug("geofence update announced", metadata: ["push.key": "\(push.key)"])
    }

    private func accept(_ open: [GeofenceNotice], of application: Key<Application>) async throws -> Push {
        try await store.accept(
            NewPush(
                receiptID: UUID(), applicationKey: application, content: .geofenceUpdate, audience: .list(.active),
                platformKeys: open.map(\.platformKey), lane: .bulk, expiresAt: clock.now + GeofenceNews.lifetime))
    }
}
