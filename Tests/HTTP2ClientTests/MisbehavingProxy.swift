import NIOCore
import NIOPosix
import Synchronization

@testable import Tunnel

/// Says yes to every CONNECT, and connects to one port of this machine whatever it was asked for; without one it says 407.
final class MisbehavingProxy: Sendable {
    let port: Int
    private let channel: any Channel
    private let notes: Notes

    private final class Notes: Sendable {
        let asked = Mutex<[String]>([])
    }

    private init(_ channel: any Channel, _ notes: Notes) {
        self.channel = channel
        self.notes = notes
        port = channel.localAddress?.port ?? 0
    }

    /// The hosts and ports of the requests so far.
    var asked: [String] { notes.asked.withLock { $0 } }

    static func start(leadingTo port: Int?) async throws -> MisbehavingProxy {
        let notes = Notes()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(ConnectHandler(leadingTo: port, notes))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return MisbehavingProxy(channel, notes)
    }

    func stop() async throws { try await channel.close() }

    private final class ConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let port: Int?
        private let notes: Notes
        private var head = ""

        init(leadingTo port: Int?, _ notes: Notes) {
            self.port = port
            self.notes = notes
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            head += String(buffer: unwrapInboundIn(data))
            guard head.hasSuffix("\r\n\r\n") else { return }
            notes.asked.withLock { $0.append(String(head.split(separator: " ")[1])) }
            guard let port else {
                let no = ByteBuffer(string: "HTTP/1.1 407 no\r\n\r\n")
                return context.writeAndFlush(wrapOutboundOut(no), promise: nil)
            }
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { far in
                    far.eventLoop.makeCompletedFuture { try far.pipeline.syncOperations.addHandler(Pipe()) }
                }
                .connect(host: "127.0.0.1", port: port)
                .whenSuccess { far in
                    let (handler, context) = bound.value
                    context.writeAndFlush(
                        handler.wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
                    let near = Pipe()
                    try? context.pipeline.syncOperations.addHandler(near)
                    if let end = try? far.pipeline.syncOperations.handler(type: Pipe.self) { Pipe.join(near, end) }
                    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
                }
        }
    }
}
