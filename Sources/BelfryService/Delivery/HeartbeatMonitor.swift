package import FoundationEssentials
package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Sends heartbeat pushes to the devices that subscribe to their topic, and watches that they come back: an end-to-end probe
/// for faults that providers do not report.
///
/// Every node does so. The receipt id of a heartbeat is the same on all of them, so each is sent once.
package struct HeartbeatMonitor: Service {
    private let store: any Store
    private let pushes: PushService
    private let clock: any WallClock
    /// The time from one heartbeat to the next.
    private let period: Duration
    private let logger: Logger
    private let missing = MissingHeartbeats()

    package init(
        store: any Store, pushes: PushService, clock: any WallClock, period: Duration, logger: Logger
    ) {
        self.store = store
        self.pushes = pushes
        self.clock = clock
        self.period = period
        self.logger = logger
    }

    package func run() async throws {
        await PeriodicTask(name: "heartbeats", clock: clock, pause: period, logger: logger).run {
            try await round()
        }
    }

    /// Sends one heartbeat to each application that has the topic, and looks at what came back.
    package func round() async throws {
        let now = clock.now
        var newest: [PlatformKind: Instant] = [:]
        for application in try await store.applications() {
            guard try await store.topic(named: HeartbeatPush.topic, of: application.key) != nil else { continue }
            try await send(to: application, at: now)
            for platform in try await store.platforms(of: application.key) {
                let summary = try await store.heartbeatSummary(
                    on: platform.key, since: now + (.zero - HeartbeatPush.memory))
                guard let lastAt = summary.lastAt else { continue }
                newest[platform.kind] = max(newest[platform.kind] ?? lastAt, lastAt)
            }
        }
        for kind in PlatformKind.allCases { report(kind, age: newest[kind].map { max(.zero, now - $0) }) }
    }

    private func send(to application: Application, at now: Instant) async throws {
        let request = PushRequest(
            content: .heartbeat(sentAt: now), target: try Target(topics: [HeartbeatPush.topic]),
            expiresAt: now + period)
        let id = HeartbeatPush.receiptID(of: application.uuid, at: now, every: period)
        do {
            _ = try await IdempotentID.$given.withValue(id) { try await pushes.send(request, for: application.key) }
        } catch StoreError.quotaExceeded {
            // An application that is full must not keep the others from their heartbeats.
        }
    }

    /// - Parameter age: of the newest heartbeat; nil where no device sends any.
    private func report(_ kind: PlatformKind, age: Duration?) {
        DeliveryMetric.heartbeatAge(of: kind, age ?? .zero)
        let isMissing = age.map { HeartbeatPush.isMissing(age: $0, every: period) } ?? false
        guard missing.changes(kind, to: isMissing) else { return }
        let metadata: Logger.Metadata = ["type": "\(kind.rawValue)", "age": "\(age ?? .zero)"]
        if isMissing {
            logger.error("no heartbeat comes back", metadata: metadata)
        } else {
            logger.warning("heartbeats come back again", metadata: metadata)
        }
    }
}

/// The types of platform whose heartbeats have stopped, so that each outage is reported once.
final class MissingHeartbeats: Sendable {
    private let kinds = Mutex<Set<PlatformKind>>([])

    /// Records the state, and returns whether it has changed.
    func changes(_ kind: PlatformKind, to isMissing: Bool) -> Bool {
        kinds.withLock { isMissing ? $0.insert(kind).inserted : $0.remove(kind) != nil }
    }
}

/// A silent push that the client SDKs answer at once, to measure the time of pushes to devices.
///
/// Devices take part by subscribing to the topic. Source: the PCF SDKs and their heartbeat monitors,
/// `docs/compatibility/pcf.md`.
package enum HeartbeatPush {
    package static let topic = "pcf.push.heartbeat"

    /// When its sender sent it, in milliseconds.
    static let sentAtKey = "pcf.push.heartbeat.sentAt"
    /// When the message left for the device, in milliseconds: the server writes it beside the former. An SDK that finds it
    /// reports a heartbeat.
    static let sentToDeviceAtKey = "pcf.push.heartbeat.sentToDeviceAt"

    /// The receipt id of an application's heartbeat at a time, the same on every node: if several nodes send it, only one push is made.
    package static func receiptID(of application: UUID, at now: Instant, every period: Duration) -> UUID {
        let beat = now.milliseconds / max(1, period.milliseconds)
        var bytes = application.bytes
        for index in 0..<8 { bytes[8 + index] ^= UInt8(truncatingIfNeeded: beat >> (8 * (7 - index))) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Whether heartbeats that came back before have stopped: several were not answered.
    package static func isMissing(age: Duration, every period: Duration) -> Bool { age > period * 5 }

    /// Devices that have sent none for this long no longer take part.
    package static let memory = Duration.seconds(86_400)
}

extension Push.Content {
    /// A heartbeat that the SDKs of Android and iOS answer.
    package static func heartbeat(sentAt: Instant) -> Push.Content {
        silent([HeartbeatPush.sentAtKey: .integer(sentAt.milliseconds)])
    }
}
