import NIOCore
import NIOPosix

/// One connection to the server, kept open between requests as the SDKs do, that writes the very bytes it is given.
struct Wire {
    private let channel: any Channel
    private let reader: AnswerReader

    static func open(port: Int) async throws -> Wire {
        let reader = AnswerReader()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(reader) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return Wire(channel: channel, reader: reader)
    }

    /// Sends a request and waits for its answer, which has to say itself where it ends.
    func exchange(_ request: String) async throws -> RawAnswer {
        let answer = channel.eventLoop.makePromise(of: RawAnswer.self)
        let reader = reader
        try await channel.eventLoop.submit { reader.expect(answer) }.get()
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return try await answer.futureResult.get()
    }

    func close() async throws { try await channel.close() }
}

/// Collects what arrives until it is a whole answer.
// SAFETY: touched on the event loop of its channel only.
private final class AnswerReader: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private var received: [UInt8] = []
    private var awaited: EventLoopPromise<RawAnswer>?

    func expect(_ answer: EventLoopPromise<RawAnswer>) { awaited = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        do {
            guard let answer = try RawAnswer(received) else { return }
            received = []
            finish { $0.succeed(answer) }
        } catch {
            finish { $0.fail(error) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish { $0.fail(RawAnswer.Malformed("the server hung up behind \(self.received.count) bytes")) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish { $0.fail(error) } }

    private func finish(_ finish: (EventLoopPromise<RawAnswer>) -> Void) {
        if let awaited { finish(awaited) }
        awaited = nil
    }
}
