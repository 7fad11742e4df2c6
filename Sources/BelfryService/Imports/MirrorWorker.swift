package import FoundationEssentials
package import Logging
import ServiceLifecycle
import Synchronization

/// Tells an old server of registrations, in the order of each device, until it has heard them all: the way back stays open while a
/// service moves in.
///
/// A change that the old server does not take is sent again later, for `MirrorEntry.ageMax`, unless the server refused it; no caller
/// waits for it. A device whose change fails holds back only itself.
package struct MirrorWorker: Service {
    private let store: any Store
    private let server: any MirrorServer
    private let clock: any WallClock
    private let logger: Logger
    private let lease: MirrorLease
    private let doubts = LogOnce<Key<Platform>>()

    /// The longest time that a call takes.
    package static let callDeadline = Duration.seconds(15)
    /// Entries of one round, and devices whose entries are sent at a time.
    private static let entriesAtOnce = 500
    private static let devicesAtOnce = 16
    /// A pass starts over when so many devices have failed: the server is down.
    private static let failingMax = 5_000
    private static let pauses = Duration.milliseconds(200)...Duration.seconds(15)

    package init(
        store: any Store, server: any MirrorServer, clock: any WallClock, logger: Logger
    ) {
        self.store = store
        self.server = server
        self.clock = clock
        self.logger = logger
        lease = MirrorLease(store: store, clock: clock)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            do { try await work() } catch { logger.trace("the mirror ends") }
        }
    }

    private func work() async throws {
        var (pause, failing) = (Self.pauses.lowerBound, MirrorFailures())
        while true {
            let outcome = await round(without: &failing)
            try Task.checkCancellation()
            switch outcome {
            case .more: continue
            case .idle: (pause, failing) = (Self.pauses.lowerBound, MirrorFailures())
            case .failed: pause = min(pause * 2, Self.pauses.upperBound)
            }
            try await clock.sleep(for: pause)
        }
    }

    enum RoundOutcome { case more, idle, failed }

    /// Sends the oldest entries.
    ///
    /// - Parameter failing: what failed in this pass, and is left out until it has reached the newest entry.
    func round(without failing: inout MirrorFailures) async -> RoundOutcome {
        do {
            guard try await !store.mirrorEntries(limit: 1).isEmpty else {
                DeliveryMetric.mirrorBacklog(0)
                return .idle
            }
            guard await lease.hold() else { return .idle }
            let entries = try await store.mirrorEntries(limit: Self.entriesAtOnce, without: failing)
            let sent = try await send(entries)
            if !sent.done.isEmpty { try await store.settle(sent.done, dropped: sent.dropped) }
            failing.devices.formUnion(sent.failing)
            failing.platforms.formUnion(sent.doubted)
            let isDown = sent.done.isEmpty && sent.failing.count >= Self.devicesAtOnce
            let endsPass = entries.count < Self.entriesAtOnce || failing.devices.count >= Self.failingMax
            let hasFailed = isDown || endsPass && !failing.isEmpty
            if endsPass { failing = MirrorFailures() }
            guard hasFailed else { return .more }
            DeliveryMetric.mirrorBacklog(try await store.mirrorBacklog())
            return .failed
        } catch {
            logger.warning("the old server could not be told", metadata: ["error": "\(error)"])
            return .failed
        }
    }

    /// The result of sending entries.
    private struct Sent {
        /// Entries that need not be sent again: the old server took or refused them, or they are dropped.
        var done: [Key<MirrorEntry>] = []
        var dropped = 0
        /// Devices with an entry that is sent again. No later one of theirs was sent.
        var failing: [Key<Device>] = []
        /// Platforms whose secret the old server does not take.
        var doubted: [Key<Platform>] = []

        static func += (all: inout Sent, part: Sent) {
            all.done += part.done
            all.dropped += part.dropped
            all.failing += part.failing
            all.doubted += part.doubted
        }
    }

    private func send(_ entries: [MirrorEntry]) async throws -> Sent {
        try await withThrowingTaskGroup(of: Sent.self) { group in
            var sent = Sent()
            for (index, lane) in Dictionary(grouping: entries, by: \.device).values.enumerated() {
                if index >= Self.devicesAtOnce, let part = try await group.next() { sent += part }
                group.addTask { try await send(lane: lane) }
            }
            for try await part in group { sent += part }
            return sent
        }
    }

    /// Sends the entries of one device.
    private func send(lane: [MirrorEntry]) async throws -> Sent {
        var sent = Sent()
        for entry in lane {
            guard let platform = try await store.platform(entry.platformKey) else {
                sent.done.append(entry.key)
                continue
            }
            let uuid = try await store.importedUUID(of: entry.device, on: platform.key)
            let verdict = await lease.hold() ? await server.tell(entry.call, of: uuid, on: platform) : nil
            switch verdict {
            case .heard(let name):
                doubts.forget(platform.key)
                if uuid == nil, let name { try await store.noteImportedUUID(name, of: entry.device, on: platform) }
            case .refused(let why):
                // A refused entry would be refused again, and must not hold back others of the device.
                logger.warning(
                    "the old server refused a registration",
                    metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "status": "\(why)"])
                sent.dropped += 1
            case .unheard where clock.now - entry.createdAt > MirrorEntry.ageMax,
                .doubted where clock.now - entry.createdAt > MirrorEntry.ageMax:
                // A call that ends with the process has not failed.
                try Task.checkCancellation()
                logger.warning(
                    "the old server never took a registration",
                    metadata: ["platform.uuid": "\(platform.uuid.lowercased)"])
                sent.dropped += 1
            case .doubted:
                if doubts.isFirst(platform.key) {
                    logger.warning(
                        "the old server takes nothing of a platform: its secret or its address is wrong",
                        metadata: ["platform.uuid": "\(platform.uuid.lowercased)"])
                }
                sent.doubted.append(platform.key)
                return sent
            case .unheard, nil:
                sent.failing.append(entry.device)
                return sent
            }
            sent.done.append(entry.key)
        }
        return sent
    }
}

/// The lease of one node to call the old server, renewed while it calls: a late call of another node could undo a newer change.
private final class MirrorLease: Sendable {
    private let store: any Store
    private let clock: any WallClock
    private let node = UUID()
    private let endsAt = Mutex(Instant.distantPast)

    private static let length = Duration.seconds(60)
    private static let renewedBelow = Duration.seconds(30)

    init(store: any Store, clock: any WallClock) {
        self.store = store
        self.clock = clock
    }

    private var rest: Duration { endsAt.withLock { $0 } - clock.now }

    /// Takes or renews the lease where that is due; false where a call could outlast it.
    func hold() async -> Bool {
        // More than its length is left when the clock was set back.
        if Self.renewedBelow...Self.length ~= rest { return true }
        let now = clock.now
        // Without an answer of the database it lasts as long as before.
        if let isHeld = try? await store.holdMirror(as: node, for: Self.length) {
            endsAt.withLock { $0 = isHeld ? now + Self.length : .distantPast }
        }
        return rest >= MirrorWorker.callDeadline
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
