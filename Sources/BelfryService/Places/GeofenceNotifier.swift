import FoundationEssentials
package import Logging
import Metrics
import ServiceLifecycle

/// Notifies devices that their geofences changed, by a push that shows nothing, and starts and ends geofences on time.
///
/// The change itself writes the update, which is removed only after its push is accepted, so a crash in between
/// notifies devices twice. Changes in quick succession make one push (`GeofenceUpdatePush`). A parked platform keeps
/// its update until it is resumed, so however much changes meanwhile, it gets one push.
package struct GeofenceNotifier: Service {
    private let store: any Store
    private let clock: any WallClock
    private let poll: Duration
    private let logger: Logger

    /// Updates read at once.
    private static let updatesMax = 100

    package init(
        store: any Store, clock: any WallClock, poll: Duration = .seconds(1),
        logger: Logger
    ) {
        self.store = store
        self.clock = clock
        self.poll = poll
        self.logger = logger
    }

    package func run() async throws {
        await PeriodicTask(name: "geofences", clock: clock, pause: poll, logger: logger).run { try await round() }
    }

    /// Does all that is due now.
    package func round() async throws {
        while try await store.startAndEndDueGeofences() {}
        while true {
            let updates = try await store.dueGeofenceUpdates(atMost: Self.updatesMax)
            for (application, updates) in Dictionary(grouping: updates, by: \.applicationKey) {
                try await announce(updates, of: application)
            }
            if updates.count < Self.updatesMax { return }
        }
    }

    private func announce(_ updates: [GeofenceUpdate], of application: Key<Application>) async throws {
        var open: [GeofenceUpdate] = []
        for update in updates {
            switch try await store.platform(update.platformKey) {
            case nil: try await store.settle(update)
            case let platform? where platform.parked.map { !$0.isProbed(at: clock.now) } ?? false:
                try await store.postpone(update, for: GeofenceUpdatePush.parkedPause)
            case _?: open.append(update)
            }
        }
        guard !open.isEmpty else { return }
        let push: Push
        do {
            push = try await accept(open, of: application)
        } catch StoreError.quotaExceeded {
            // An application that has exhausted its quota must not delay the devices of the others.
            for update in open { try await store.postpone(update, for: GeofenceUpdatePush.parkedPause) }
            return
        }
        for update in open { try await store.settle(update) }
        DeliveryMetric.geofencesAnnounced()
        logger.debug("geofence update announced", metadata: ["push.key": "\(push.key)"])
    }

    private func accept(_ open: [GeofenceUpdate], of application: Key<Application>) async throws -> Push {
        try await store.accept(
            NewPush(
                receiptID: UUID(), applicationKey: application, content: .geofenceUpdate, audience: .list(.active),
                platformKeys: open.map(\.platformKey), lane: .bulk, expiresAt: clock.now + GeofenceUpdatePush.lifetime))
    }
}
