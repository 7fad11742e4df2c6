import HTTP2Client
public import Logging
public import NIOCore
import NIOSSL
import Synchronization
public import Tunnel

/// The connections to all hosts that are posted to: opened on demand, few while idle, bounded in number.
///
/// A host is spoken to over HTTP/2 where it can, by ALPN, and over HTTP/1.1 where it offers nothing else. Both take a batch and
/// return its answers.
public final class HostConnections: Sendable {
    public struct Configuration: Sendable {
        /// The most connections to one host that speaks HTTP/1.1.
        public var http1ConnectionsMax = 64
        /// The most connections to one host that speaks HTTP/2.
        public var http2ConnectionsMax = 8
        /// The most connections to all hosts together. Those that never answered may have half of them.
        public var connectionsMax = 512
        /// The most hosts at a time. Those that never answered may be half of them.
        public var hostsMax = 1_024
        /// The way through a proxy; nil connects directly.
        public var tunnel: Tunnel?
        /// Finds the addresses of hosts where there is no proxy, and checks them where outsiders name the hosts; nil asks the system.
        public var lookUp: HostLookup?
        /// The addresses that a direct connection may be to; nil for any.
        public var addresses: AddressGuard?
        /// The deadline for TCP, the proxy if there is one, and TLS.
        public var connectDeadline = Duration.seconds(8)
        /// Connections beyond the first are closed when they were free for so long.
        public var idleMax = Duration.seconds(30)
        /// A host that nothing was sent to for so long has no connection any more.
        public var hostIdleMax = Duration.seconds(240)

        public init() {}
    }

    private let configuration: Configuration
    private let group: any EventLoopGroup
    private let logger: Logger
    private let budget: ConnectionBudget
    private let contexts = TLSContexts()
    private let held = Mutex(Held())
    private let sweeping = Mutex<RepeatedTask?>(nil)

    private struct Held {
        var hosts: [Key: Entry] = [:]
        var isShut = false
    }

    private struct Key: Hashable {
        let origin: PostOrigin
        /// nil where nothing but the standard is asked for.
        let tls: TLSKey?
    }

    private struct Entry {
        let host: PostHost
        /// Batches under way.
        var users = 0
        var usedAt: NIODeadline
    }

    private static let sweepInterval = TimeAmount.seconds(30)

    public init(
        _ configuration: Configuration = Configuration(), on group: any EventLoopGroup,
        logger: Logger = Logger(label: "outbound") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.configuration = configuration
        self.group = group
        self.logger = logger
        budget = ConnectionBudget(connectionsMax: configuration.connectionsMax)
        budget.onFull { [weak self] in self?.closeLongestUnused(strangersOnly: $0) ?? false }
        let sweep = group.next().scheduleRepeatedTask(
            initialDelay: Self.sweepInterval, delay: Self.sweepInterval
        ) { [weak self] task in
            if let self { dropUnused() } else { task.cancel() }
        }
        sweeping.withLock { $0 = sweep }
    }

    /// Closes all connections; what is under way on them is unknown.
    public func shutdown() async {
        sweeping.withLock { $0?.cancel() }
        let hosts = held.withLock { held in
            held.isShut = true
            defer { held.hosts = [:] }
            return held.hosts.values.map(\.host)
        }
        await withDiscardingTaskGroup { group in
            for host in hosts { group.addTask { await host.shutdown() } }
        }
    }

    /// Sends what goes to one host and returns the answers in order, and why there was no connection if there was none.
    func send(
        _ requests: HTTP2Batch, to origin: PostOrigin, tls: TLSConfiguration?, urgent: Bool, silence: Duration,
        within deadline: Duration
    ) async -> (HTTP2Answers, HTTP2ConnectError?) {
        let key = Key(origin: origin, tls: origin.isSecure ? tls.map(TLSKey.init) : nil)
        do throws(HTTP2ConnectError) {
            let host = try take(key)
            defer { giveBack(key) }
            return await host.send(requests, urgent: urgent, silence: silence, within: deadline)
        } catch {
            return (HTTP2Answers(count: requests.count, unprocessed: HTTP2Fault(.connectFailed)), error)
        }
    }

    // MARK: Hosts

    private func take(_ key: Key) throws(HTTP2ConnectError) -> PostHost {
        // To read trust roots takes milliseconds: no lock is held meanwhile.
        let tls = key.origin.isSecure ? try contexts.context(for: key.tls) : nil
        let now = NIODeadline.now()
        let (host, dropped) = held.withLock { held -> (PostHost?, [PostHost]) in
            guard !held.isShut else { return (nil, []) }
            if let known = held.hosts[key]?.host {
                held.hosts[key]?.users += 1
                return (known, [])
            }
            let dropped = makeRoom(in: &held, at: now)
            guard hasRoom(in: held) else { return (nil, dropped) }
            let host = makeHost(key.origin, tls)
            held.hosts[key, default: Entry(host: host, usedAt: now)].users += 1
            return (host, dropped)
        }
        retire(dropped)
        guard let host else { throw HTTP2ConnectError(code: .full, reason: "as many hosts are spoken to as may be") }
        return host
    }

    private func giveBack(_ key: Key) {
        let now = NIODeadline.now()
        held.withLock { held in
            held.hosts[key]?.users -= 1
            held.hosts[key]?.usedAt = now
        }
    }

    private func makeHost(_ origin: PostOrigin, _ tls: NIOSSLContext?) -> PostHost {
        PostHost(origin, tls: tls, configuration, permits: HostPermits(budget), on: group.next(), logger: logger)
    }

    /// Whether one more host may be known, which has not answered yet.
    private func hasRoom(in held: Held) -> Bool {
        let most = max(1, configuration.hostsMax / 2)
        guard held.hosts.count >= most else { return true }
        return held.hosts.count < configuration.hostsMax && held.hosts.values.count { !$0.host.permits.isKnown } < most
    }

    /// Forgets hosts that nothing stands on: those that answered only where the others are not enough.
    private func makeRoom(in held: inout Held, at now: NIODeadline) -> [PostHost] {
        guard !hasRoom(in: held) else { return [] }
        let strangers = drop(unusedSince: now, in: &held) { !$0.permits.isKnown }
        return held.hosts.count < configuration.hostsMax ? strangers : strangers + drop(unusedSince: now, in: &held)
    }

    /// Forgets the hosts that nothing was sent to since then.
    private func drop(
        unusedSince time: NIODeadline, in held: inout Held, where isMeant: (PostHost) -> Bool = { _ in true }
    ) -> [PostHost] {
        let unused = held.hosts.filter { $0.value.users == 0 && $0.value.usedAt <= time && isMeant($0.value.host) }
        for key in unused.keys { held.hosts[key] = nil }
        return unused.values.map(\.host)
    }

    private func dropUnused() {
        let time = NIODeadline.now() - .nanoseconds(Int64(clamping: configuration.hostIdleMax.nanoseconds))
        retire(held.withLock { drop(unusedSince: time, in: &$0) })
    }

    private func retire(_ hosts: [PostHost]) { hosts.forEach { $0.retire() } }

    /// Makes room for a connection: the host that nothing was sent to for longest loses its own.
    private func closeLongestUnused(strangersOnly: Bool) -> Bool {
        let host = held.withLock { held in
            held.hosts.values.filter {
                $0.users == 0 && $0.host.permits.isHeld && !(strangersOnly && $0.host.permits.isKnown)
            }.min { $0.usedAt < $1.usedAt }?.host
        }
        host?.closeIdle()
        return host != nil
    }
}
