import NIOCore
import NIOPosix

/// Writes bytes to a port and reads until the other side closes: for requests that no proper client would send.
enum RawClient {
    static func exchange(_ bytes: String, port: Int) async throws -> String {
        let group = MultiThreadedEventLoopGroup.singleton
        let answer = group.any().makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(answer: answer))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(string: bytes))
        return try await answer.futureResult.get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let answer: EventLoopPromise<String>
        var received = ByteBuffer()

        init(answer: EventLoopPromise<String>) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
        }

        func channelInactive(context: ChannelHandlerContext) { answer.succeed(String(buffer: received)) }
    }
}
