import HTTP2Client
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Tunnel

/// The destination of a pool of HTTP/1.1 connections, and how many it may have.
struct HTTP1PoolConfiguration: Sendable {
    let host: String
    let port: Int
    let authority: String
    /// nil speaks in the clear.
    let tls: NIOSSLContext?
    var tunnel: Tunnel?
    var lookUp: HostLookup?
    var admitsPeer: (@Sendable (SocketAddress) -> Bool)?
    var permits: any ConnectionPermits
    var connectionsMax: Int
    var connectDeadline: Duration
    /// A connection that is free for so long is closed.
    var idleMax: Duration
    /// Told when a host chose HTTP/2.
    var onHTTP2: @Sendable () -> Void
}

/// Keep-alive connections to one host, on one event loop: a batch in, its answers out.
///
/// A batch costs one hop and one continuation. Connections are opened as requests wait, no more at a time than there are open
/// ones, and take the next request as soon as they are free.
final class HTTP1Pool: Sendable {
    private let configuration: HTTP1PoolConfiguration
    private let eventLoop: any EventLoop
    private let core: NIOLoopBoundBox<HTTP1PoolCore>
    private let nextID = Atomic<UInt64>(0)

    init(_ configuration: HTTP1PoolConfiguration, on eventLoop: any EventLoop) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        core = NIOLoopBoundBox.makeBoxSendingValue(
            HTTP1PoolCore(configuration, eventLoop: eventLoop), eventLoop: eventLoop)
    }

    /// Sends a batch and returns its answers in order, and why there was no connection if there was none.
    func send(
        _ batch: HTTP2Batch, urgent: Bool, deadline: Duration, silence: Duration
    ) async -> (HTTP2Answers, HTTP2ConnectError?) {
        let id = nextID.add(1, ordering: .relaxed).newValue
        let now = NIODeadline.now().uptimeNanoseconds
        let cancellation = Cancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                eventLoop.execute { [core, configuration] in
                    core.value.add(
                        HTTP1Job(
                            id: id, batch: batch, authority: configuration.authority, isUrgent: urgent,
                            lapsesAt: now + deadline.nanoseconds,
                            silence: SilenceClock(most: silence.nanoseconds, now: now)
                        ) { continuation.resume(returning: ($0, $1)) })
                    // The task may have been cancelled before the job was here to be cancelled.
                    if cancellation.isAsked { core.value.cancel(id) }
                }
            }
        } onCancel: {
            cancellation.ask()
            eventLoop.execute { [core] in core.value.cancel(id) }
        }
    }

    /// Takes a connection over whose peer chose HTTP/1.1. To be called on the event loop.
    func adopt(_ channel: any Channel) { core.value.adopt(channel) }

    func closeIdle() { eventLoop.execute { [core] in core.value.closeIdle(freeSince: .max) } }

    func shutdown() { eventLoop.execute { [core] in core.value.shut() } }
}

/// The state of a pool, which only its event loop touches.
final class HTTP1PoolCore: HTTP1Connection.Owner {
    private let configuration: HTTP1PoolConfiguration
    private let eventLoop: any EventLoop
    private var urgent = CircularBuffer<HTTP1Job>()
    private var normal = CircularBuffer<HTTP1Job>()
    private var jobs: [HTTP1Job] = []
    private var connections: [HTTP1Connection] = []
    private var free: [HTTP1Connection] = []
    private var opening = 0
    private var answers = 0
    private var ticking: Scheduled<Void>?
    private var isTickFast = false
    private var isShut = false

    /// How often deadlines are looked at while requests are open, and free connections while none are.
    private static let tick = TimeAmount.milliseconds(100)
    private static let idleTick = TimeAmount.seconds(5)

    init(_ configuration: HTTP1PoolConfiguration, eventLoop: any EventLoop) {
        self.configuration = configuration
        self.eventLoop = eventLoop
    }

    // MARK: Requests

    func add(_ job: HTTP1Job) {
        guard !isShut, job.count > 0 else {
            job.giveUpWaiting(HTTP2Fault(.closing))
            return job.finish(nil)
        }
        jobs.append(job)
        if job.isUrgent { urgent.append(job) } else { normal.append(job) }
        pump()
        arm(isBusy: true)
    }

    func cancel(_ id: UInt64) { giveUp(HTTP2Fault(.cancelled)) { $0.id == id } }

    /// Gives free connections work, and opens more while work waits.
    private func pump() {
        while let job = urgent.first ?? normal.first, let connection = takeFree() {
            let request = job.next
            job.next += 1
            if job.isWritten { dequeue(job) }
            connection.begin(job, request: request)
        }
        openMore()
    }

    private func takeFree() -> HTTP1Connection? {
        while let connection = free.popLast() {
            if connection.isUsable { return connection }
        }
        return nil
    }

    private func dequeue(_ job: HTTP1Job) {
        if job.isUrgent { urgent.removeAll { $0 === job } } else { normal.removeAll { $0 === job } }
    }

    // MARK: Answers

    func answered(_ job: HTTP1Job, by connection: HTTP1Connection) {
        answers += 1
        if connection.isUsable {
            connection.freeSince = eventLoop.now.uptimeNanoseconds
            free.append(connection)
        }
        if job.isDone { finish(job, nil) }
        pump()
    }

    private func finish(_ job: HTTP1Job, _ failure: HTTP2ConnectError?) {
        jobs.removeAll { $0 === job }
        job.finish(failure)
    }

    /// Answers all that is open on some jobs; connections with a request of theirs under way are closed.
    private func giveUp(
        _ fault: HTTP2Fault, _ failure: HTTP2ConnectError? = nil, where isMeant: (HTTP1Job) -> Bool
    ) {
        // A connection in the clear says within `close` that it is lost, and this may be called again for what is left.
        let givenUp = jobs.filter(isMeant)
        for job in givenUp {
            jobs.removeAll { $0 === job }
            if !job.isWritten { dequeue(job) }
        }
        for job in givenUp {
            for connection in connections {
                guard let current = connection.current, current.job === job else { continue }
                job.settle(current.request, .unknown, fault)
                connection.close()
            }
            job.giveUpWaiting(fault)
            job.finish(failure)
        }
    }

    // MARK: Connections

    func adopt(_ channel: any Channel) {
        guard !isShut, configuration.permits.take() else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { [permits = configuration.permits] _ in permits.giveBack() }
        let connection = HTTP1Connection(owner: self)
        do {
            try connection.addHandlers(to: channel)
            opened(connection)
        } catch {
            channel.close(promise: nil)
        }
    }

    func lost(_ connection: HTTP1Connection) {
        remove(connection)
        if let (job, request) = connection.current {
            job.settle(request, .unknown, HTTP2Fault(.connectionLost))
            if job.isDone { finish(job, nil) }
        }
        pump()
    }

    private func opened(_ connection: HTTP1Connection) {
        connection.place = connections.count
        connections.append(connection)
        connection.freeSince = eventLoop.now.uptimeNanoseconds
        free.append(connection)
        pump()
        arm(isBusy: !jobs.isEmpty)
    }

    private func remove(_ connection: HTTP1Connection) {
        guard connection.place < connections.count, connections[connection.place] === connection else { return }
        let last = connections.removeLast()
        if last !== connection {
            last.place = connection.place
            connections[last.place] = last
        }
    }

    /// Opens as many connections as requests wait for, but no more at a time than are open already: a quick host needs few.
    private func openMore() {
        guard !isShut else { return }
        var waiting = urgent.reduce(0) { $0 + $1.count - $1.next } + normal.reduce(0) { $0 + $1.count - $1.next }
        waiting -= opening
        let most = max(1, connections.count)
        while waiting > 0, opening < most, connections.count + opening < configuration.connectionsMax {
            guard configuration.permits.take() else {
                return failed(HTTP2ConnectError(code: .full, reason: "as many connections are open as may be"))
            }
            waiting -= 1
            open()
        }
    }

    private func open() {
        opening += 1
        let connection = HTTP1Connection(owner: self)
        let amount = TimeAmount.nanoseconds(Int64(clamping: configuration.connectDeadline.nanoseconds))
        let bound = NIOLoopBound((self, connection), eventLoop: eventLoop)
        let lapse = eventLoop.scheduleTask(in: amount) { bound.value.1.connectLapsed() }
        let ready = connection.opening(on: eventLoop)
        let connecting = ClientChannel.connect(
            to: configuration.host, port: configuration.port, through: configuration.tunnel,
            lookUp: configuration.lookUp, admitsPeer: configuration.admitsPeer, within: amount, on: eventLoop
        ) { [configuration] channel in
            if let tls = configuration.tls {
                try channel.pipeline.syncOperations.addHandler(ClientChannel.makeTLS(tls, configuration.host))
                try channel.pipeline.syncOperations.addHandler(bound.value.1.alpn { configuration.onHTTP2() })
            }
            try bound.value.1.addHandlers(to: channel)
        }
        connecting.whenFailure { bound.value.1.failed($0) }
        ready.whenComplete { outcome in
            lapse.cancel()
            bound.value.0.connected(bound.value.1, outcome)
        }
        // The connection knows only the channel of the address that was tried last.
        ready.whenFailure { _ in connecting.whenSuccess { $0.close(promise: nil) } }
    }

    private func connected(_ connection: HTTP1Connection, _ outcome: Result<any Channel, any Error>) {
        opening -= 1
        switch outcome {
        case .success(let channel):
            channel.closeFuture.whenComplete { [permits = configuration.permits] _ in permits.giveBack() }
            if isShut { connection.close() } else { opened(connection) }
        case .failure(let error):
            configuration.permits.giveBack()
            failed(HTTP2ConnectError(error, host: configuration.host, port: configuration.port))
        }
    }

    /// Without a connection nothing can be sent; with one the others are merely not needed.
    private func failed(_ error: HTTP2ConnectError) {
        guard connections.isEmpty, opening == 0 else { return }
        giveUp(HTTP2Fault(error.code == .tlsRefused ? .tlsRefused : .connectFailed), error) { _ in true }
    }

    // MARK: Time

    private func arm(isBusy: Bool) {
        guard ticking == nil || isBusy && !isTickFast else { return }
        ticking?.cancel()
        isTickFast = isBusy
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        ticking = eventLoop.scheduleTask(in: isBusy ? Self.tick : Self.idleTick) { bound.value.ticked() }
    }

    private func ticked() {
        ticking = nil
        let now = eventLoop.now.uptimeNanoseconds
        giveUp(HTTP2Fault(.deadline)) { $0.isLost(answersOfAll: answers, at: now) }
        closeIdle(freeSince: now - min(now, configuration.idleMax.nanoseconds))
        pump()
        if !jobs.isEmpty || !connections.isEmpty { arm(isBusy: !jobs.isEmpty) }
    }

    /// Closes what has been free since then or before.
    func closeIdle(freeSince: UInt64) {
        let idle = free.filter { $0.freeSince <= freeSince }
        free.removeAll { $0.freeSince <= freeSince }
        idle.forEach { $0.close() }
    }

    func shut() {
        isShut = true
        giveUp(HTTP2Fault(.closing)) { _ in true }
        ticking?.cancel()
        for connection in connections { connection.close() }
    }
}
