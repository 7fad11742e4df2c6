package import FoundationEssentials
package import Logging
import ServiceLifecycle

/// Tells an old server of registrations, in the order of each device, until it has heard them all: the way back stays open while a
/// service moves in.
///
/// A change that the old server does not take is sent again later, unless the server refused it; no caller waits for it.
package struct MirrorWorker: Service {
    private let store: any Store
    private let server: any MirrorServer
    private let clock: any WallClock
    private let logger: Logger
    private let node = UUID()

    /// Entries of one round, and devices whose entries are sent at a time.
    private static let entriesAtOnce = 500
    private static let devicesAtOnce = 16
    private static let lease = Duration.seconds(60)
    private static let pauses = Duration.milliseconds(200)...Duration.seconds(15)

    package init(
        store: any Store, server: any MirrorServer, clock: any WallClock, logger: Logger
    ) {
        self.store = store
        self.server = server
        self.clock = clock
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            do { try await work() } catch { logger.trace("the mirror ends") }
        }
    }

    private func work() async throws {
        var pause = Self.pauses.lowerBound
        while true {
            let outcome = await roundOutcome()
            try Task.checkCancellation()
            switch outcome {
            case .more: continue
            case .idle: pause = Self.pauses.lowerBound
            case .failed: pause = min(pause * 2, Self.pauses.upperBound)
            }
            try await clock.sleep(for: pause)
        }
    }

    private enum RoundOutcome { case more, idle, failed }

    private func roundOutcome() async -> RoundOutcome {
        do {
            guard try await !store.mirrorEntries(limit: 1).isEmpty else {
                DeliveryMetric.mirrorBacklog(0)
                return .idle
            }
            guard try await store.holdMirror(as: node, for: Self.lease) else { return .idle }
            let entries = try await store.mirrorEntries(limit: Self.entriesAtOnce)
            let heard = try await tell(entries)
            if !heard.isEmpty { try await store.settle(heard) }
            if heard.count == entries.count { return .more }
            DeliveryMetric.mirrorBacklog(try await store.mirrorBacklog())
            return .failed
        } catch {
            logger.warning("the old server could not be told", metadata: ["error": "\(error)"])
            return .failed
        }
    }

    /// Sends entries, and returns those that need not be sent again: the old server took or refused them. After a failure no later
    /// entry of the same device is sent.
    package func tell(_ entries: [MirrorEntry]) async throws -> [Key<MirrorEntry>] {
        var lanes: [[MirrorEntry]] = []
        var places: [Key<Device>: Int] = [:]
        for entry in entries {
            if let place = places[entry.device] {
                lanes[place].append(entry)
            } else {
                places[entry.device] = lanes.count
                lanes.append([entry])
            }
        }
        return try await withThrowingTaskGroup(of: [Key<MirrorEntry>].self) { group in
            var heard: [Key<MirrorEntry>] = []
            for (index, lane) in lanes.enumerated() {
                if index >= Self.devicesAtOnce, let some = try await group.next() { heard += some }
                group.addTask { try await tell(lane: lane) }
            }
            for try await some in group { heard += some }
            return heard
        }
    }

    private func tell(lane: [MirrorEntry]) async throws -> [Key<MirrorEntry>] {
        var heard: [Key<MirrorEntry>] = []
        for entry in lane {
            guard let platform = try await store.platform(entry.platformKey) else {
                heard.append(entry.key)
                continue
            }
            let uuid = try await store.importedUUID(of: entry.device, on: platform.key)
            switch await server.tell(entry.call, of: uuid, on: platform) {
            case .heard(let name):
                if uuid == nil, let name { try await store.noteImportedUUID(name, of: entry.device, on: platform) }
                heard.append(entry.key)
            case .refused(let why):
                // A refused entry would be refused again, and must not hold back others of the device.
                logger.warning(
                    "the old server refused a registration",
                    metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "status": "\(why)"])
                heard.append(entry.key)
            case .unheard: return heard
            }
        }
        return heard
    }
}

/// The applications whose registrations are also sent to an old server.
package enum MirroredApplications: Sendable, Hashable {
    case none, all
    case some(Set<UUID>)

    package func contains(_ application: UUID) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .some(let uuids): uuids.contains(application)
        }
    }
}
