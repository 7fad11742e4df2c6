import NIOCore
import NIOSSL
import NIOTLS

/// Speaks HTTP/2 with a sender that chose it by ALPN: requests go in, their answers come out.
///
/// It reads no more while many requests are under way, whether their streams are still there or not, nor while the sender does not
/// read what it is answered: settings and pings are answered too.
final class GatewayHTTP2Handler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = GatewayInbound
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private var session: GatewayHTTP2Session?
    private var outstanding = 0
    private var isReadHeld = false
    private var isClosing = false

    private static let outstandingMax = 2 * Int(GatewayHTTP2Session.streamsMax)

    func handlerAdded(context: ChannelHandlerContext) {
        session = GatewayHTTP2Session()
        write(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { session = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session, !isClosing else { return }
        let isRead = session.read(unwrapInboundIn(data))
        let requests = session.takeRequests()
        if !requests.isEmpty {
            outstanding += requests.count
            context.fireChannelRead(wrapInboundOut(.requests(requests)))
            context.fireChannelReadComplete()
        }
        write(context)
        if !isRead { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            context.triggerUserOutboundEvent(HeldInputEnd.HandshakeIsOver(), promise: nil)
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            context.fireChannelRead(wrapInboundOut(.certificate((try? certificate?.toDERBytes()) ?? [], isHTTP2: true)))
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
        readIfThereIsRoom(context)
        context.fireChannelWritabilityChanged()
    }

    private func readIfThereIsRoom(_ context: ChannelHandlerContext) {
        guard isReadHeld, outstanding < Self.outstandingMax, context.channel.isWritable else { return }
        isReadHeld = false
        context.read()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let command = event as? GatewayCommand else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        switch command {
        case .respond(let response, let id, let stream):
            outstanding -= 1
            session?.respond(response, id: id, on: stream)
        case .stop: session?.goAway()
        case .end: session?.terminate()
        case .admit, .settled: break
        }
        write(context)
        promise?.succeed()
        readIfThereIsRoom(context)
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
}

/// Puts HTTP/2 in the place of the binary protocol where the handshake agreed on it.
final class GatewayProtocolHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let binary: GatewayHandler

    /// - Parameter binary: stands behind this handler.
    init(binary: GatewayHandler) { self.binary = binary }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(negotiatedProtocol: "h2")? = event as? TLSUserEvent {
            let pipeline = context.pipeline.syncOperations
            do {
                try pipeline.addHandler(GatewayHTTP2Handler(), position: .after(self))
                pipeline.removeHandler(binary, promise: nil)
            } catch {
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }
}
