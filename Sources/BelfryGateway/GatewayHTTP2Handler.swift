import NIOCore
import NIOSSL
import NIOTLS

/// Speaks HTTP/2 with a sender that chose it by ALPN: requests go in, their answers come out.
///
/// Nothing is read before the sender is known. It reads no more while many requests are under way, whether their streams are still
/// there or not, nor while the sender does not read what it is answered: settings and pings are answered too.
final class GatewayHTTP2Handler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = GatewayInbound
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private let options: GatewayOptions
    private let held: HeldBytes.Share
    private var session: GatewayHTTP2Session?
    private var isAdmitted = false
    /// Bytes that arrived together with the end of the handshake.
    private var early: [ByteBuffer] = []
    private var outstanding = 0
    private var isReadHeld = false
    private var isClosing = false
    private var context: ChannelHandlerContext?
    private var handshakeDeadline: Scheduled<Void>?
    private var ticking: Scheduled<Void>?
    private var unwritableSince: NIODeadline?

    private static let outstandingMax = 2 * Int(GatewayHTTP2Session.streamsMax)
    /// How often deadlines are looked at while there are any.
    private static let tick = TimeAmount.seconds(1)

    init(_ options: GatewayOptions, held: HeldBytes.Share) {
        self.options = options
        self.held = held
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        session = GatewayHTTP2Session(held: held, streamTimeout: options.streamTimeout)
        write(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ticking?.cancel()
        handshakeDeadline?.cancel()
        session?.forgetAll()
        session = nil
        early = []
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        if isAdmitted { take(buffer, context) } else { early.append(buffer) }
    }

    private func take(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        guard let session, !isClosing else { return }
        let isRead = session.read(buffer, at: context.eventLoop.now)
        let requests = session.takeRequests()
        if !requests.isEmpty {
            outstanding += requests.count
            context.fireChannelRead(wrapInboundOut(.requests(requests)))
            context.fireChannelReadComplete()
        }
        write(context)
        if isRead { arm(context) } else { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            context.triggerUserOutboundEvent(DeferredEOFHandler.HandshakeIsOver(), promise: nil)
            handshakeDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: options.handshakeTimeout) {
                [weak self] in
                self?.context?.close(promise: nil)
            }
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            context.fireChannelRead(wrapInboundOut(.certificate((try? certificate?.toDERBytes()) ?? [])))
            context.fireChannelReadComplete()
        } else if case .read? = event as? IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else if case .inputClosed? = event as? ChannelEvent {
            // Nobody waits for answers behind the end of a connection of HTTP/2.
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func read(context: ChannelHandlerContext) {
        isReadHeld = true
        readIfThereIsRoom(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        unwritableSince = context.channel.isWritable ? nil : context.eventLoop.now
        arm(context)
        readIfThereIsRoom(context)
        context.fireChannelWritabilityChanged()
    }

    private func readIfThereIsRoom(_ context: ChannelHandlerContext) {
        guard isReadHeld, isAdmitted, outstanding < Self.outstandingMax, context.channel.isWritable else { return }
        isReadHeld = false
        context.read()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let command = event as? GatewayCommand else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        switch command {
        case .admit: admit(context)
        case .respond(let response, let id, let stream):
            outstanding -= 1
            session?.respond(response, id: id, on: stream, at: context.eventLoop.now)
            arm(context)
        case .stop: session?.goAway()
        case .end: session?.terminate()
        case .settled: break
        }
        write(context)
        promise?.succeed()
        readIfThereIsRoom(context)
    }

    private func admit(_ context: ChannelHandlerContext) {
        guard !isAdmitted else { return }
        isAdmitted = true
        handshakeDeadline?.cancel()
        for buffer in early { take(buffer, context) }
        early = []
    }

    private func write(_ context: ChannelHandlerContext) {
        guard let session else { return }
        if let output = session.output(context.channel.allocator) {
            context.writeAndFlush(wrapOutboundOut(output), promise: nil)
        }
        if session.isOver, !isClosing {
            isClosing = true
            context.close(promise: nil)
        }
    }

    // MARK: Deadlines

    private func arm(_ context: ChannelHandlerContext) {
        guard ticking == nil, session?.hasDeadlines == true || unwritableSince != nil else { return }
        ticking = context.eventLoop.assumeIsolated().scheduleTask(in: Self.tick) { [weak self] in self?.ticked() }
    }

    private func ticked() {
        ticking = nil
        guard let context, let session else { return }
        let now = context.eventLoop.now
        if let unwritableSince, unwritableSince + options.writeTimeout <= now { return context.close(promise: nil) }
        guard session.expire(at: now) else { return context.close(promise: nil) }
        write(context)
        arm(context)
    }
}

/// Puts HTTP/2 in the place of the binary protocol where the handshake agreed on it.
final class GatewayProtocolHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let binary: GatewayHandler
    private let makeHTTP2: () -> GatewayHTTP2Handler

    /// - Parameter binary: stands behind this handler.
    init(binary: GatewayHandler, makeHTTP2: @escaping () -> GatewayHTTP2Handler) {
        self.binary = binary
        self.makeHTTP2 = makeHTTP2
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(negotiatedProtocol: "h2")? = event as? TLSUserEvent {
            let pipeline = context.pipeline.syncOperations
            do {
                try pipeline.addHandler(makeHTTP2(), position: .after(self))
                pipeline.removeHandler(binary, promise: nil)
            } catch {
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Keeps from TLS that the sender has closed its side until the handshake is over: a sender that does so at once sends its end
/// together with the last of the handshake, and TLS would take it for a broken one. Nor is a sender read while its certificate is
/// looked up.
final class DeferredEOFHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// Sent towards the network once the handshake is over.
    struct HandshakeIsOver: Sendable {}

    private var isOver = false
    private var isHeld = false
    private var (areReadsHeld, isReadHeld) = (false, false)
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Reads

    func holdReads() { areReadsHeld = true }

    func readOn() {
        areReadsHeld = false
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    func read(context: ChannelHandlerContext) {
        if areReadsHeld { isReadHeld = true } else { context.read() }
    }

    // MARK: The end

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, !isOver {
            isHeld = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Later, since TLS tells of the handshake before it has passed on what came with it.
    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is HandshakeIsOver else { return context.triggerUserOutboundEvent(event, promise: promise) }
        isOver = true
        promise?.succeed()
        guard isHeld else { return }
        isHeld = false
        context.eventLoop.assumeIsolated().execute { [weak self] in
            self?.context?.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }
}
