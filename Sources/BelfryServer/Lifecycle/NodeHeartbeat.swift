import BelfryService
import Foundation
import FoundationEssentials
import Logging
import Metrics
import ServiceLifecycle
import Synchronization
import SystemPackage

/// Checks the server's health every few seconds and writes a heartbeat, which also proves that the node can write; and
/// counts the other nodes.
///
/// Health requests return the last result, so they cost nothing.
final class NodeHeartbeat: Service {
    private let store: any Store
    private let hostChecks: HostChecks
    private let clock: any WallClock
    private let shutdown: GracefulShutdown
    private let batchesInFlight: @Sendable () -> Int
    private let onShare: (@Sendable (NodeShare) -> Void)?
    private let logger: Logger
    private let node = UUID()
    private let address: String
    private let last = Mutex(Check())
    private let share = Mutex(NodeShare.whole)

    private struct Check {
        var at = ContinuousClock.now
        var faults: [HealthFault] = []
        /// Whether a schedule is so late that no node can be releasing any.
        var schedulesAreLate = false
    }

    /// A check that takes longer is a fault of the database, which is all that it waits for.
    private static let checkMax = Node.heartbeatInterval + .seconds(10)

    /// - Parameter onShare: called with this node's share when that changes; nil without other nodes, so that a
    ///   restarted process does not share with its predecessor.
    init(
        store: any Store, hostChecks: HostChecks, clock: any WallClock, shutdown: GracefulShutdown, address: String,
        batchesInFlight: @escaping @Sendable () -> Int, onShare: (@Sendable (NodeShare) -> Void)?, logger: Logger
    ) {
        self.store = store
        self.hostChecks = hostChecks
        self.clock = clock
        self.shutdown = shutdown
        self.address = address
        self.batchesInFlight = batchesInFlight
        self.onShare = onShare
        self.logger = logger
    }

    /// A working scheduler is never this late.
    private static let scheduleLateMax = Duration.seconds(60)

    /// The faults that keep the server from working; empty while it works.
    var faults: [HealthFault] {
        let last = last.withLock { $0 }
        let leaving = shutdown.isUnderWay ? [HealthFault(.server, "the server was told to stop")] : []
        guard last.at.duration(to: .now) < Self.checkMax else {
            return leaving + [HealthFault(.database, "the database does not answer")]
        }
        return leaving + last.faults
    }

    /// The public health answer: no reasons and no tenant data.
    var healthOfPCF: PCF.Health {
        let hasDatabase = !faults.contains { $0.part == .database }
        return PCF.Health(hasDatabase: hasDatabase, schedulesAreLate: last.withLock { $0.schedulesAreLate })
    }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            repeat { await check() } while (try? await clock.sleep(for: Node.heartbeatInterval)) != nil
        }
        do { try await store.remove(node) } catch {
            logger.debug("this node is still on the list", metadata: ["error": "\(error)"])
        }
    }

    func check() async {
        let databaseFault = await databaseFault()
        // A look that was called off has found nothing.
        if Task.isCancelled { return }
        let faults = [databaseFault, hostChecks.keyRingFault(), hostChecks.diskFault()].compactMap(\.self)
        let schedulesAreLate = await schedulesAreLate()
        let before = last.withLock { last in
            defer { last = Check(faults: faults, schedulesAreLate: schedulesAreLate) }
            return last.faults
        }
        report(faults, before)
    }

    /// A database that does not respond is reported as its own fault.
    private func schedulesAreLate() async -> Bool {
        guard let due = try? await store.nextScheduleDue() else { return false }
        return clock.now - due > Self.scheduleLateMax
    }

    private func databaseFault() async -> HealthFault? {
        do {
            try await store.recordHeartbeat(
                NodeReport(
                    uuid: node, host: ProcessInfo.processInfo.hostName, address: address, version: Release.version,
                    batchesInFlight: batchesInFlight(), isDraining: shutdown.isUnderWay))
            Metric.damagedBatches().set(Int64(try await store.damagedBatchCount()))
            Metric.damagedFanOuts().set(Int64(try await store.damagedFanOutCount()))
            if let onShare { divide(among: try await store.nodes(), onShare) }
            return nil
        } catch {
            return HealthFault(.database, "\(error)")
        }
    }

    /// While the database does not respond, the last count is kept.
    private func divide(among nodes: [Node], _ onShare: @Sendable (NodeShare) -> Void) {
        let now = NodeShare(of: node, among: nodes)
        Metric.nodes().set(Int64(now.nodes))
        Metric.nodesGone().set(Int64(nodes.withoutReplaced.count { $0.state == .gone }))
        let before = share.withLock { share in
            defer { share = now }
            return share
        }
        guard now != before else { return }
        onShare(now)
        logger.info("limits are divided", metadata: ["nodes": "\(now.nodes)"])
    }

    /// Logs once for each part that fails or recovers.
    private func report(_ faults: [HealthFault], _ before: [HealthFault]) {
        let (now, then) = (Set(faults.map(\.part)), Set(before.map(\.part)))
        for fault in faults where !then.contains(fault.part) {
            logger.error(
                "the server is not ready", metadata: ["part": "\(fault.part.rawValue)", "reason": "\(fault.reason)"])
        }
        for part in then.subtracting(now) { logger.info("works again", metadata: ["part": "\(part.rawValue)"]) }
    }
}

/// The graceful shutdown of a server: the first service to be told that the server stops.
///
/// From then on the server reports that it is not ready, and claims no more work; what is in flight is finished while
/// the listeners are still open. After a delay for load balancers, the listeners close.
final class GracefulShutdown: Service {
    private let begunAt = Mutex<ContinuousClock.Instant?>(nil)
    private let clock: any WallClock
    private let delay: Duration
    private let onBegin: @Sendable () -> Void

    /// - Parameters:
    ///   - delay: how long the listeners stay open.
    ///   - onBegin: called at once.
    init(clock: any WallClock, delay: Duration, onBegin: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.delay = delay
        self.onBegin = onBegin
    }

    var isUnderWay: Bool { begunAt.withLock { $0 } != nil }

    /// Whether shutdown began at least `duration` ago.
    func hasLasted(_ duration: Duration) -> Bool {
        begunAt.withLock { $0.map { $0.duration(to: .now) >= duration } ?? false }
    }

    func run() async {
        do { try await gracefulShutdown() } catch { return }
        begunAt.withLock { $0 = .now }
        onBegin()
        // Ends early when the time limit of the server is reached.
        try? await clock.sleep(for: delay)
    }
}

struct HostChecks: Sendable {
    let keyRing: KeyRingFile
    let directory: String
    /// The least free space on the disk, in MiB.
    let diskFreeMin: Int

    func keyRingFault() -> HealthFault? {
        do { _ = try keyRing.ring } catch { return HealthFault(.keyRing, "\(error)") }
        return nil
    }

    /// Whether files can be written to the data directory, with enough free space.
    func diskFault() -> HealthFault? {
        let probe = directory + "/.probe"
        do {
            let file = try FileDescriptor.open(
                FilePath(probe), .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
            try file.closeAfter { _ = try file.writeAll([0x2E]) }
        } catch {
            let words = (error as? Errno)?.words ?? "\(error)"
            return HealthFault(.disk, "no file can be written in \(directory): \(words)")
        }
        try? FileManager.default.removeItem(atPath: probe)
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: directory)
        guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value else { return nil }
        let mebibytes = Int(free >> 20)
        guard mebibytes < diskFreeMin else { return nil }
        return HealthFault(.disk, "\(mebibytes) MiB are free at \(directory), health.disk.free.mib is \(diskFreeMin)")
    }
}
