import NIOCore

/// The first handler in the pipeline of a connection to a proxy: does the handshake, and removes itself.
///
/// Until then the later handlers see nothing: to them the channel becomes active when the tunnel is open.
final class TunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Succeeds when the tunnel is open, fails with a ``TunnelError``.
    let opened: EventLoopFuture<Void>
    private var promise: EventLoopPromise<Void>?
    private var handshake: any Handshake
    private let lapsesAt: NIODeadline
    private var last: Scheduled<Void>?

    init(_ handshake: any Handshake, lapsesAt: NIODeadline, eventLoop: any EventLoop) {
        self.handshake = handshake
        self.lapsesAt = lapsesAt
        let promise = eventLoop.makePromise(of: Void.self)
        self.promise = promise
        opened = promise.futureResult
    }

    func channelActive(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        last = context.eventLoop.scheduleTask(deadline: lapsesAt) {
            let (handler, context) = bound.value
            handler.fail(TunnelError(.deadline, "it did not answer in time"), context)
        }
        write(handshake.begin(), context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard promise != nil else { return }
        do {
            switch try handshake.receive(unwrapInboundIn(data).readableBytesView) {
            case .wait: break
            case .send(let bytes): write(bytes, context)
            case .open(let rest): open(rest, context)
            }
        } catch {
            fail(error, context)
        }
    }

    /// Later handlers have read nothing yet.
    func channelReadComplete(context: ChannelHandlerContext) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(TunnelError(.garbled, "the connection to it was lost: \(error)"), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(TunnelError(.garbled, "it closed the connection"), context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        settle(.failure(TunnelError(.garbled, "it closed the connection")))
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func open(_ rest: [UInt8], _ context: ChannelHandlerContext) {
        settle(.success(()))
        context.fireChannelActive()
        if !rest.isEmpty {
            context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: rest)))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func fail(_ error: TunnelError, _ context: ChannelHandlerContext) {
        guard promise != nil else { return }
        settle(.failure(error))
        context.close(promise: nil)
    }

    private func settle(_ result: Result<Void, any Error>) {
        last?.cancel()
        promise?.completeWith(result)
        promise = nil
    }
}
