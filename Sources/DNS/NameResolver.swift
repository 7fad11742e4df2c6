public import NIOCore
import Synchronization

/// Finds the addresses of hosts without a thread that waits: c-ares asks the machine's name servers, on one thread for all.
///
/// `/etc/hosts`, `/etc/nsswitch.conf` and `/etc/resolv.conf` count as they do for other programs, and a change of the latter two is
/// noticed. Answers are kept for a while, and each caller has a share of what is under way (``NameCaller``).
public final class NameResolver: Sendable {
    package typealias Answer = Result<[SocketAddress], NameFault>

    private struct Held {
        var queue: LookupQueue
        var told: [Int: @Sendable (Answer) -> Void] = [:]
        var nextWaiter = 0
    }

    private let held: Mutex<Held>
    private let source: any NameSource
    private let addressesMax: Int

    /// - Parameter servers: asked instead of the machine's: addresses, each perhaps with a port behind a colon. `/etc/hosts` counts still.
    public convenience init(servers: [String] = [], limits: NameLimits = NameLimits()) {
        self.init(AresThread(AresConfiguration(servers: servers, timeAtMost: limits.deadline)), limits)
    }

    /// - Parameter answer: the addresses of a host; none for one that is unknown.
    package convenience init(
        limits: NameLimits = NameLimits(), answer: @escaping @Sendable (String) -> [SocketAddress]
    ) {
        self.init(ScriptedNames(answer: answer), limits)
    }

    init(_ source: any NameSource, _ limits: NameLimits) {
        self.source = source
        addressesMax = limits.addressesMax
        held = Mutex(Held(queue: LookupQueue(limits)))
        source.start { [weak self] now in self?.expire(at: now) }
    }

    deinit { source.close() }

    /// Ends the thread; waiting look-ups fail.
    public func close() {
        perform { queue, _ in queue.close() }
        source.close()
    }

    /// Whether a text names a server: an address, or one with a port as in `192.0.2.1:53` and `[2001:db8::1]:53`.
    public static func isServer(_ text: String) -> Bool {
        if literal(text) != nil { return true }
        guard let colon = text.lastIndex(of: ":"), 1...65_535 ~= Int(text[text.index(after: colon)...]) ?? 0 else {
            return false
        }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return host.contains(":") == isBracketed
            && literal(String(isBracketed ? host.dropFirst().dropLast() : host)) != nil
    }

    // MARK: Looking up

    /// The addresses of a host, in the order in which to try them.
    ///
    /// Never waits longer than the deadline, and ends when its task is cancelled.
    public func addresses(
        of host: String, for caller: NameCaller = .current
    ) async -> Result<[SocketAddress], NameFault> {
        if let address = Self.literal(host) { return .success([address]) }
        let waiter = nextWaiter()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(telling: (waiter, { continuation.resume(returning: $0) })) { queue, now in
                    queue.ask(host, by: caller, waiter: waiter, at: now)
                }
                if Task.isCancelled { perform { queue, _ in queue.cancel(waiter) } }
            }
        } onCancel: {
            perform { queue, _ in queue.cancel(waiter) }
        }
    }

    /// Looks up the addresses of a host, for callers on an event loop. Fails with a ``NameFault``.
    public func lookUp(
        _ host: String, for caller: NameCaller, on eventLoop: any EventLoop
    ) -> EventLoopFuture<[SocketAddress]> {
        if let address = Self.literal(host) { return eventLoop.makeSucceededFuture([address]) }
        let promise = eventLoop.makePromise(of: [SocketAddress].self)
        let waiter = nextWaiter()
        perform(telling: (waiter, { answer in promise.completeWith(answer.mapError { $0 as any Error }) })) {
            queue, now in
            queue.ask(host, by: caller, waiter: waiter, at: now)
        }
        return promise.futureResult
    }

    private static func literal(_ host: String) -> SocketAddress? { try? SocketAddress(ipAddress: host, port: 0) }

    private func nextWaiter() -> Int {
        held.withLock { held in
            held.nextWaiter += 1
            return held.nextWaiter
        }
    }

    // MARK: Steps

    /// Lets the queue decide, then performs its steps, outside the lock.
    private func perform(
        telling: (Int, @Sendable (Answer) -> Void)? = nil,
        _ decide: (inout LookupQueue, NIODeadline) -> [LookupQueue.Step]
    ) {
        let deeds = held.withLock { held -> [@Sendable () -> Void] in
            if let (waiter, tell) = telling { held.told[waiter] = tell }
            return decide(&held.queue, .now()).compactMap { step in
                switch step {
                case .begin(let lane, let host): return { [weak self] in self?.begin(lane, host) }
                case .tell(let waiter, let answer):
                    guard let tell = held.told.removeValue(forKey: waiter) else { return nil }
                    return { tell(answer) }
                }
            }
        }
        deeds.forEach { $0() }
        if telling != nil, deeds.isEmpty { source.wake() }
    }

    private func begin(_ lane: NameCaller.Lane, _ host: String) {
        source.ask(host, in: lane) { [weak self] answer, lifetime in
            guard let self else { return }
            let bounded = answer.map { Array($0.prefix(addressesMax)) }
            perform { queue, now in queue.found(bounded, of: host, in: lane, lifetime: lifetime, at: now) }
        }
    }

    private func expire(at now: NIODeadline) -> NIODeadline? {
        perform { queue, _ in queue.expire(at: now) }
        return held.withLock { $0.queue.nextDeadline }
    }
}

protocol NameSource: Sendable {
    /// - Parameter expire: to be called when the time that it returned last has come.
    func start(_ expire: @escaping @Sendable (NIODeadline) -> NIODeadline?)
    /// Answers once, with how long the answer may be kept.
    func ask(
        _ host: String, in lane: NameCaller.Lane, _ tell: @escaping @Sendable (NameResolver.Answer, Duration) -> Void)
    /// Wakes the source for a waiter with a deadline.
    func wake()
    func close()
}

private struct ScriptedNames: NameSource {
    let answer: @Sendable (String) -> [SocketAddress]

    func start(_ expire: @escaping @Sendable (NIODeadline) -> NIODeadline?) {}

    func ask(
        _ host: String, in lane: NameCaller.Lane, _ tell: @escaping @Sendable (NameResolver.Answer, Duration) -> Void
    ) {
        let found = answer(host)
        tell(found.isEmpty ? .failure(.unknown) : .success(found), .seconds(30))
    }

    func wake() {}

    func close() {}
}

/// The caller that a look-up is counted for.
///
/// A caller that can name hosts can name some that never answer. So each caller has a share of the look-ups under way, and callers
/// take turns beyond it.
public struct NameCaller: Sendable, Hashable {
    /// The purpose of a look-up. Each lane has its sockets, its limits and its own cache, so that none waits for another.
    public enum Lane: Sendable, Hashable, CaseIterable {
        /// Names in requests that somebody waits for: proofs of registrations, tests of credentials, issuers.
        case doors
        /// Names in tokens and credentials that pushes go to.
        case delivery
        /// Names in the server's own configuration. They alone are completed by the search domains of the machine.
        case configured
    }

    public let lane: Lane
    /// nil for the server itself.
    public let application: Int64?
    public let tenant: Int64?

    public init(_ lane: Lane, application: Int64? = nil, tenant: Int64? = nil) {
        self.lane = lane
        self.application = application
        self.tenant = tenant
    }

    /// The caller of the task.
    @TaskLocal public static var current = NameCaller(.doors)
}

/// Why a name has no address now.
public enum NameFault: Error, Sendable, Hashable {
    /// There is no such name, or it has no address.
    case unknown
    /// The servers of the name gave no answer in time.
    case unanswered
    /// The limit of waiting look-ups is reached.
    case full
}

/// How many look-ups each lane may have, and how long answers are kept.
public struct NameLimits: Sendable {
    /// Under way at a time: for one application, for all of a tenant, for all.
    public var (application, tenant, total) = (32, 128, 1_024)
    /// Waiting for those: for one tenant, or one application without one, and for all.
    public var (waitingOfTenant, waiting) = (1_024, 8_192)
    /// How long a caller waits.
    public var deadline = Duration.seconds(5)
    /// How long addresses are kept at least and at most, whatever their time to live says.
    public var kept = Duration.seconds(5)...Duration.seconds(60)
    /// How long it is kept that a name has no address.
    public var faultKept = Duration.seconds(5)
    /// The names whose answers are kept.
    public var namesKept = 4_096
    /// The addresses of a name that are looked at.
    public var addressesMax = 16

    public init() {}
}
