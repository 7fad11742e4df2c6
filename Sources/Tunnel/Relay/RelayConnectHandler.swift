import NIOCore
import NIOPosix

/// Reads one CONNECT, opens a tunnel, answers, and is replaced by the ``Pipe`` between the two connections.
final class RelayConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let tunnel: Tunnel
    private let login: ProxyLogin
    private let deadline: TimeAmount
    private var head: [UInt8] = []
    private var isAsked = false
    private var last: Scheduled<Void>?

    /// How long a client may take to send its request.
    private static let timeout = TimeAmount.seconds(10)

    init(_ tunnel: Tunnel, login: ProxyLogin, deadline: TimeAmount) {
        self.tunnel = tunnel
        self.login = login
        self.deadline = deadline
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        last = context.eventLoop.scheduleTask(in: Self.timeout) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        head += unwrapInboundIn(data).readableBytesView
        // A client sends nothing after its CONNECT before it is answered.
        guard !isAsked, head.count <= RelayRequest.bytesMax else { return context.close(promise: nil) }
        guard head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
        guard let request = RelayRequest(head, login: login) else { return answer("400 Bad Request", context) }
        guard request.isWelcome else { return answer("407 Proxy Authentication Required", context) }
        isAsked = true
        last?.cancel()
        open(request.target, context)
    }

    func channelInactive(context: ChannelHandlerContext) { last?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func open(_ target: Target, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        tunnel.open(
            to: target.host, port: target.port, by: .now() + deadline,
            with: ClientBootstrap(group: context.eventLoop)
        ) { channel in
            try channel.pipeline.syncOperations.addHandler(Pipe())
        }.whenComplete { result in
            let (listener, context) = bound.value
            switch result {
            case .success(let far): listener.join(far, context)
            case .failure(let error): listener.answer(Self.status(of: error), context)
            }
        }
    }

    private func join(_ far: any Channel, _ context: ChannelHandlerContext) {
        guard context.channel.isActive, let end = try? far.pipeline.syncOperations.handler(type: Pipe.self) else {
            return far.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
        let own = Pipe()
        do {
            try context.pipeline.syncOperations.addHandler(own)
            Pipe.join(own, end)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private static func status(of error: any Error) -> String {
        switch (error as? TunnelError)?.code {
        case .credentials: "407 Proxy Authentication Required"
        case .deadline: "504 Gateway Timeout"
        default: "502 Bad Gateway"
        }
    }

    private func answer(_ status: String, _ context: ChannelHandlerContext) {
        let bytes = ByteBuffer(string: "HTTP/1.1 \(status)\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(bytes)).whenComplete { _ in channel.close(promise: nil) }
    }
}
