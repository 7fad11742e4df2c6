import NIOCore

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
