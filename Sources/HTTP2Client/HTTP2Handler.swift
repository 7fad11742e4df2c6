package import NIOCore
import NIOTLS

/// Moves bytes between a channel and its ``HTTP2Session``, and gives the session its clock.
///
/// Reads feed the session; once per read burst the session is pumped, so that many answers cost one write.
final class HTTP2Handler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let session: HTTP2Session
    /// Succeeds with the server's first SETTINGS.
    let ready: EventLoopFuture<Void>
    private var readyPromise: EventLoopPromise<Void>?
    private let configuration: HTTP2Configuration
    private let report: (HTTP2Event) -> Void
    private let publish: (Int) -> Void
    private var pacing: PingPacing
    private var context: ChannelHandlerContext?
    private var isPumpDue = false
    private var tick: Scheduled<Void>?
    private var isTickFast = false
    private var failure: HTTP2Ending?

    /// TLS records hold 16 KiB; two to three of them a write keep the number of system calls low.
    private static let writeBytes = 32_768

    /// - Parameters:
    ///   - report: called for each event, on the event loop.
    ///   - publish: called with the number of open or waiting requests, whenever it changes.
    init(
        configuration: HTTP2Configuration, eventLoop: any EventLoop,
        report: @escaping (HTTP2Event) -> Void, publish: @escaping (Int) -> Void
    ) throws {
        self.configuration = configuration
        self.report = report
        self.publish = publish
        session = try HTTP2Session(configuration: configuration)
        let promise = eventLoop.makePromise(of: Void.self)
        readyPromise = promise
        ready = promise.futureResult
        pacing = PingPacing(
            quietMax: configuration.pingAfter.nanoseconds, idleMax: configuration.idlePingAfter.nanoseconds,
            answerMax: configuration.pingDeadline.nanoseconds, now: eventLoop.now.uptimeNanoseconds)
        session.onPong = { [unowned self] in pacing.acknowledged() }
    }

    // MARK: Requests

    func send(_ job: BatchJob) {
        session.enqueue(job)
        if let now = context?.eventLoop.now.uptimeNanoseconds, job.lapsesAt <= now { session.expire(at: now) }
        pumpSoon()
        armTick()
    }

    func cancel(_ id: UInt64) {
        session.cancel(id)
        pumpSoon()
    }

    func drain(_ reason: HTTP2Ending) {
        session.drain(reason)
        pumpSoon()
    }

    /// Ends the connection now; what is open is answered first.
    func end(_ reason: HTTP2Ending) {
        guard let context else { return }
        session.fail(reason)
        session.sayGoodbye()
        write(context)
        context.close(promise: nil)
    }

    /// The first SETTINGS did not come in time.
    func connectLapsed() {
        settle(.failure(HTTP2ConnectError(code: .deadline, reason: "no SETTINGS within the connect deadline")))
        context?.close(mode: .all, promise: nil)
    }

    /// Hands over a connection whose peer speaks HTTP/1.1.
    func yield(_ channel: any Channel, _ take: () -> Void) {
        context = nil
        tick?.cancel()
        channel.pipeline.syncOperations.removeHandler(self, promise: nil)
        take()
        settle(.failure(HTTP2ConnectError(code: .speaksHTTP1, reason: "the peer speaks HTTP/1.1")))
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { pump(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.closed)
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        pump(context)
        armTick()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        do {
            try buffer.withUnsafeReadableBytes { bytes throws(HTTP2SessionError) in try session.receive(bytes) }
        } catch {
            failure = .protocolBroken
            end(.protocolBroken)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pacing.read(at: context.eventLoop.now.uptimeNanoseconds)
        if session.hasSettings { settle(.success(())) }
        pump(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTP2ConnectError { settle(.failure(error)) }
        failure = failure ?? HTTP2Ending(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(failure ?? .lost(reason: "closed by the peer"))
        context.fireChannelInactive()
    }

    // MARK: Writing

    /// Pumps at the end of this turn of the event loop, so that batches which arrive together share a write.
    private func pumpSoon() {
        guard !isPumpDue, let context else { return }
        isPumpDue = true
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.execute {
            bound.value.isPumpDue = false
            if let context = bound.value.context { bound.value.pump(context) }
        }
    }

    private func pump(_ context: ChannelHandlerContext) {
        write(context)
        tell()
        publish(session.load)
        if session.isFinished { context.close(promise: nil) }
    }

    private func write(_ context: ChannelHandlerContext) {
        while context.channel.isWritable {
            var buffer = context.channel.allocator.buffer(capacity: Self.writeBytes + Self.writeBytes / 4)
            session.fill(&buffer, upTo: Self.writeBytes)
            guard buffer.readableBytes > 0 else { return }
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
    }

    private func tell() {
        let events = session.events
        guard !events.isEmpty else { return }
        session.events.removeAll()
        events.forEach(report)
    }

    // MARK: Time

    /// Keeps one timer: a fast one while requests are open, else one for the idle ping.
    private func armTick() {
        guard let context, !(isTickFast && tick != nil) else { return }
        tick?.cancel()
        isTickFast = !session.isIdle
        let idleDue = NIODeadline.uptimeNanoseconds(pacing.due(hasOpenStreams: false))
        let due = isTickFast ? context.eventLoop.now + TimeAmount(configuration.tick) : idleDue
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        tick = context.eventLoop.scheduleTask(deadline: due) { bound.value.ticked() }
    }

    private func ticked() {
        tick = nil
        guard let context else { return }
        let now = context.eventLoop.now.uptimeNanoseconds
        session.expire(at: now)
        switch pacing.step(at: now, hasOpenStreams: session.hasOpenStreams) {
        case .wait: break
        case .ping: session.ping()
        case .dead:
            failure = .pingUnanswered
            return end(.pingUnanswered)
        }
        pump(context)
        armTick()
    }

    // MARK: The end

    private func settle(_ result: Result<Void, any Error>) {
        readyPromise?.completeWith(result)
        readyPromise = nil
    }

    private func finish(_ reason: HTTP2Ending) {
        guard context != nil else { return }
        context = nil
        tick?.cancel()
        session.fail(reason)
        settle(.failure(HTTP2ConnectError(ending: reason)))
        tell()
        publish(0)
        report(.closed(session.ending ?? reason))
    }
}

/// Stands behind TLS and holds the handlers behind it back until both sides have settled what they speak.
///
/// Source: RFC 7301.
package final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer

    private let isFitting: (String?, any Channel) -> Bool

    /// - Parameter isFitting: gets the negotiated protocol, nil for none; returns whether the later handlers should
    ///   continue.
    package init(isFitting: @escaping (String?, any Channel) -> Bool) { self.isFitting = isFitting }

    /// Later handlers wait for the end of the handshake.
    package func channelActive(context: ChannelHandlerContext) {}

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        if isFitting(negotiated, context.channel) { context.fireChannelActive() }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Goes on with HTTP/2, or hands the connection over.
    static func http2(_ handler: HTTP2Handler, else take: @escaping @Sendable (any Channel) -> Void) -> ALPNHandler {
        ALPNHandler { negotiated, channel in
            if negotiated == "h2" { return true }
            handler.yield(channel) { take(channel) }
            return false
        }
    }
}

/// When to ping: while answers are due and nothing was read for a while, and seldom when idle. Times in nanoseconds.
struct PingPacing {
    enum Step: Equatable { case wait, ping, dead }

    private let quietMax: UInt64
    private let idleMax: UInt64
    private let answerMax: UInt64
    private var lastReadAt: UInt64
    private var sentAt: UInt64?

    init(quietMax: UInt64, idleMax: UInt64, answerMax: UInt64, now: UInt64) {
        self.quietMax = quietMax
        self.idleMax = idleMax
        self.answerMax = answerMax
        lastReadAt = now
    }

    mutating func read(at now: UInt64) { lastReadAt = now }

    mutating func acknowledged() { sentAt = nil }

    mutating func step(at now: UInt64, hasOpenStreams: Bool) -> Step {
        if let sentAt {
            return now >= sentAt + answerMax ? .dead : .wait
        }
        guard now >= due(hasOpenStreams: hasOpenStreams) else { return .wait }
        sentAt = now
        return .ping
    }

    /// When `step` next has something to say.
    func due(hasOpenStreams: Bool) -> UInt64 {
        if let sentAt { return sentAt + answerMax }
        return lastReadAt + (hasOpenStreams ? quietMax : idleMax)
    }
}
