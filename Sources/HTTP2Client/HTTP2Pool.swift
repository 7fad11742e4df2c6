public import Logging
public import NIOCore
package import NIOSSL
import Synchronization

/// Connections to one endpoint with one set of credentials: opened when work needs them, replaced when they fail.
///
/// Requests that a server certainly did not process are sent again on another connection, a bounded number of times.
/// What may have been processed never is; that decision is the caller's.
public final class HTTP2Pool: Sendable {
    private let endpoint: HTTP2Endpoint
    private let configuration: HTTP2PoolConfiguration
    private let group: any EventLoopGroup
    private let tls: NIOSSLContext
    private let logger: Logger
    private let now: @Sendable () -> Duration
    private let chance: @Sendable () -> Double
    private let held: Mutex<Held>
    private let ticking: EventLoopFuture<RepeatedTask>

    private struct Held {
        var state: PoolState
        var connections: [PoolState.ID: HTTP2Connection] = [:]
        var continuations: [Int: CheckedContinuation<Lease, Never>] = [:]
        var nextWaiter = 0
    }

    private enum Lease {
        case use(HTTP2Connection, PoolState.ID)
        case refuse(HTTP2Fault)
    }

    /// - Parameters:
    ///   - now: time since any origin; it must not go back.
    ///   - chance: numbers in 0..<1 for the jitter of the back-off.
    /// - Throws: when the TLS configuration of the endpoint cannot be used.
    public convenience init(
        endpoint: HTTP2Endpoint, configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        eventLoopGroup: any EventLoopGroup, logger: Logger,
        now: @escaping @Sendable () -> Duration = { .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds)) },
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(HTTP2ConnectError) {
        self.init(
            endpoint: endpoint, tls: try endpoint.makeContext(), configuration: configuration,
            eventLoopGroup: eventLoopGroup, logger: logger, now: now, chance: chance)
    }

    /// - Parameter tls: shared with pools of other endpoints: to read trust roots takes long.
    package init(
        endpoint: HTTP2Endpoint, tls: NIOSSLContext, configuration: HTTP2PoolConfiguration,
        eventLoopGroup: any EventLoopGroup, logger: Logger,
        now: @escaping @Sendable () -> Duration = { .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds)) },
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.tls = tls
        self.endpoint = endpoint
        self.configuration = configuration
        self.logger = logger
        self.now = now
        self.chance = chance
        group = eventLoopGroup
        held = Mutex(Held(state: PoolState(configuration: configuration)))
        let loop = eventLoopGroup.next()
        let started = loop.makePromise(of: RepeatedTask.self)
        ticking = started.futureResult
        started.succeed(
            loop.scheduleRepeatedTask(initialDelay: .milliseconds(250), delay: .milliseconds(250)) {
                [weak self] task in
                guard let self else { return task.cancel() }
                self.perform { state, now in state.tick(at: now) }
            })
    }

    // MARK: Work

    /// How many requests the pool can usefully take now. Cheap, for callers that claim no more work than this.
    public var room: Int { held.withLock { $0.state.room(at: now()) } }

    public var snapshot: HTTP2PoolSnapshot {
        held.withLock { held in
            HTTP2PoolSnapshot(state: held.state, load: held.connections.values.reduce(0) { $0 + $1.load }, now: now())
        }
    }

    /// Sends a batch and returns its answers in order. The deadline covers all of it: connecting, waiting, replays.
    ///
    /// - Parameter silence: for so long no answer may come; nil waits for the deadline.
    public func send(
        _ batch: HTTP2Batch, urgent: Bool = false, deadline: Duration, silence: Duration? = nil
    ) async -> HTTP2Answers {
        let lapsesAt = now() + deadline
        var answers = await attempt(batch, urgent: urgent, until: lapsesAt, silence)
        for _ in 0..<configuration.replaysMax {
            let again = answers.replayable
            guard !again.isEmpty, !Task.isCancelled, now() < lapsesAt else { break }
            logger.debug("replaying unprocessed requests", metadata: ["http2.requests": "\(again.count)"])
            let later = await attempt(batch.picking(again), urgent: urgent, until: lapsesAt, silence)
            answers.replace(at: again, with: later)
        }
        return answers
    }

    /// Closes the connections that nothing stands on.
    package func closeIdle() { perform { state, _ in state.closeIdle() } }

    /// Takes no more work, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async {
        let open = held.withLock { Array($0.connections.values) }
        retire()
        await withTaskGroup(of: Void.self) { group in
            for connection in open {
                group.addTask { await connection.close(within: deadline) }
            }
        }
    }

    /// Takes no more work, and closes the connections once the answers that are due are there.
    package func retire() {
        ticking.whenSuccess { $0.cancel() }
        perform { state, _ in state.shut() }
    }

    private func attempt(
        _ batch: HTTP2Batch, urgent: Bool, until lapsesAt: Duration, _ silence: Duration?
    ) async -> HTTP2Answers {
        switch await lease(count: batch.count, urgent: urgent, until: lapsesAt) {
        case .refuse(let fault):
            return HTTP2Answers(count: batch.count, unprocessed: fault)
        case .use(let connection, let id):
            defer { held.withLock { $0.state.gaveBack(id, count: batch.count, at: now()) } }
            guard let authorized = try? authorize(batch) else {
                return HTTP2Answers(count: batch.count, unprocessed: HTTP2Fault(.invalid))
            }
            return await connection.send(authorized, urgent: urgent, deadline: lapsesAt - now(), silence: silence)
        }
    }

    private func authorize(_ batch: HTTP2Batch) throws -> HTTP2Batch {
        guard let authorize = configuration.authorize else { return batch }
        var batch = batch
        batch.headers.append(try authorize())
        return batch
    }

    private func lease(count: Int, urgent: Bool, until lapsesAt: Duration) async -> Lease {
        let number = held.withLock { held in
            held.nextWaiter += 1
            return held.nextWaiter
        }
        let waiter = PoolState.Waiter(number: number, count: count, isUrgent: urgent, lapsesAt: lapsesAt)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(waiting: (number, continuation)) { state, now in
                    let (answer, actions) = state.ask(waiter, at: now)
                    return answer == .wait ? actions : actions + [.resume(waiter: number, with: answer)]
                }
                if Task.isCancelled { perform { state, _ in state.cancel(waiter: number) } }
            }
        } onCancel: {
            perform { state, _ in state.cancel(waiter: number) }
        }
    }

    // MARK: Connections

    /// Lets the state decide, then performs the actions, outside the lock.
    private func perform(
        waiting: (Int, CheckedContinuation<Lease, Never>)? = nil,
        _ decide: (inout PoolState, Duration) -> [PoolState.Action]
    ) {
        let deeds = held.withLock { held in
            if let (number, continuation) = waiting { held.continuations[number] = continuation }
            return decide(&held.state, now()).map { effect(for: $0, in: &held) }
        }
        deeds.forEach { $0() }
    }

    private func effect(for action: PoolState.Action, in held: inout Held) -> () -> Void {
        switch action {
        case .open(let id):
            let isForUrgent = held.state.members.first { $0.id == id }?.isForUrgent ?? true
            let group = isForUrgent ? group : configuration.broadcastLoops ?? group
            return { self.open(id, on: group.next()) }
        case .drain(let id):
            let connection = held.connections[id]
            return { connection?.drain(.closed, within: self.configuration.drainDeadline) }
        case .resume(let number, let answer):
            let continuation = held.continuations.removeValue(forKey: number)
            let lease = lease(for: answer, in: held)
            return { continuation?.resume(returning: lease) }
        }
    }

    private func lease(for answer: PoolState.Answer, in held: Held) -> Lease {
        switch answer {
        case .use(let id):
            held.connections[id].map { .use($0, id) } ?? .refuse(HTTP2Fault(.connectionLost))
        case .refuse(let fault): .refuse(fault)
        case .wait: .refuse(HTTP2Fault(.deadline))
        }
    }

    private func open(_ id: PoolState.ID, on loop: any EventLoop) {
        let permits = configuration.permits
        guard permits?.take() != false else {
            return failed(id, HTTP2ConnectError(code: .full, reason: "as many connections are open as may be"))
        }
        var connection = configuration.connection
        configuration.prepare?(&connection)
        HTTP2Connection.open(
            endpoint, tls: tls, configuration: connection, on: loop,
            onEvent: { [weak self] event in self?.heard(event, from: id) }
        ).whenComplete { self.connected(id, $0) }
    }

    private func connected(_ id: PoolState.ID, _ result: Result<HTTP2Connection, any Error>) {
        switch result {
        case .success(let connection):
            logger.debug("connection opened", metadata: metadata(id))
            connection.whenClosed { [permits = configuration.permits] in permits?.giveBack() }
            held.withLock { $0.connections[id] = connection }
            perform { state, now in state.opened(id, at: now) }
        case .failure(let error):
            configuration.permits?.giveBack()
            failed(id, HTTP2ConnectError(error, host: endpoint.host, port: endpoint.port))
        }
    }

    private func failed(_ id: PoolState.ID, _ error: HTTP2ConnectError) {
        logger.debug("connect failed", metadata: metadata(id, error.reason))
        perform { state, now in state.failed(id, error, at: now, chance: chance()) }
    }

    private func heard(_ event: HTTP2Event, from id: PoolState.ID) {
        switch event {
        case .streamLimit(let streams): held.withLock { $0.state.limited(id, to: streams) }
        case .proven: held.withLock { $0.state.proven(id) }
        case .draining(let ending):
            logger.debug("connection draining", metadata: metadata(id, "\(ending)"))
            perform { state, _ in
                state.draining(id)
                return ending == .allDeleted ? state.replaceAll() : []
            }
            // A retired connection must not wait for ever for answers that do not come.
            held.withLock { $0.connections[id] }?.drain(ending, within: configuration.drainDeadline)
        case .closed(let ending):
            logger.debug("connection closed", metadata: metadata(id, "\(ending)"))
            held.withLock { _ = $0.connections.removeValue(forKey: id) }
            perform { state, now in state.closed(id, ending, at: now, chance: chance()) }
        }
    }

    private func metadata(_ id: PoolState.ID, _ reason: String? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["http2.connection": "\(id.number)", "server.address": "\(endpoint.host)"]
        if let reason { metadata["reason"] = "\(reason)" }
        return metadata
    }
}

extension HTTP2Answers {
    /// The requests that are worth sending again: not processed, and not by our own decision.
    var replayable: [Int] {
        let final: [HTTP2Fault.Code] = [
            .deadline, .cancelled, .full, .invalid, .connectFailed, .tlsRefused, .circuitOpen, .proxy,
        ]
        return unprocessedIndices.filter { !final.contains(records[$0].fault.code) }
    }
}

/// A pool at one moment, for metrics and health pages.
public struct HTTP2PoolSnapshot: Sendable, Hashable {
    /// Whether the pool connects freely.
    public enum Circuit: Sendable, Hashable {
        case closed
        /// Connecting failed; the next attempt is due after this.
        case open(failures: Int, retryIn: Duration)
        /// The wait is over; one attempt decides.
        case probing(failures: Int)
    }

    public let connectionsOpen: Int
    public let connectionsOpening: Int
    public let connectionsDraining: Int
    /// Requests written and unanswered or waiting for a stream, over all connections.
    public let requestsOnConnections: Int
    /// Requests that wait for a connection.
    public let requestsWaiting: Int
    public let circuit: Circuit
    /// Why the last connect failed; nil once a connection has proven itself.
    public let lastFailure: HTTP2ConnectError?

    init(state: PoolState, load: Int, now: Duration) {
        func count(_ phase: PoolState.Phase) -> Int { state.members.count { $0.phase == phase } }
        connectionsOpen = count(.open)
        connectionsOpening = count(.connecting)
        connectionsDraining = count(.draining)
        requestsOnConnections = load
        requestsWaiting = state.waiters.reduce(0) { $0 + $1.count }
        lastFailure = state.lastFailure
        let failures = state.backOff.failures
        circuit =
            if failures == 0 { .closed } else if state.backOff.allows(at: now) { .probing(failures: failures) } else {
                .open(failures: failures, retryIn: state.backOff.nextAt - now)
            }
    }
}
