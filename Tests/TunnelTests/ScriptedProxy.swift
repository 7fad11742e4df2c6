import NIOCore
import NIOPosix
import Synchronization

@testable import Tunnel

/// Answers the head of each request with a fixed text, and echoes all that follows.
final class ScriptedProxy: Sendable {
    let port: Int
    private let channel: any Channel
    private let openConnections: RelayConnections
    private let came: Count

    private init(channel: any Channel, openConnections: RelayConnections, came: Count) {
        self.channel = channel
        self.openConnections = openConnections
        self.came = came
        port = channel.localAddress?.port ?? 0
    }

    var connections: Int { came.value.withLock { $0 } }

    static func start(answering answer: String) async throws -> ScriptedProxy {
        let (openConnections, came) = (RelayConnections(), Count())
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { child in
                openConnections.came(child)
                came.value.withLock { $0 += 1 }
                return child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(Script(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return ScriptedProxy(channel: channel, openConnections: openConnections, came: came)
    }

    func closeConnections() async throws { await openConnections.sendAway() }

    func stop() async throws {
        try await channel.close()
        await openConnections.sendAway()
    }

    private final class Script: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: String
        private var head: [UInt8] = []
        private var hasAnswered = false

        init(_ answer: String) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasAnswered else { return context.writeAndFlush(data, promise: nil) }
            head += unwrapInboundIn(data).readableBytesView
            guard head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
            hasAnswered = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

private final class Count: Sendable {
    let value = Mutex(0)
}

/// One connection to a port of this machine, read as text.
actor Caller {
    private let channel: any Channel
    private var pieces: AsyncThrowingStream<String, any Error>.Iterator
    private(set) var all = ""
    private var taken = 0

    private init(_ channel: any Channel, _ stream: AsyncThrowingStream<String, any Error>) {
        self.channel = channel
        pieces = stream.makeAsyncIterator()
    }

    static func connect(_ port: Int) async throws -> Caller {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: String.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Receiver(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return Caller(channel, stream)
    }

    nonisolated func say(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// The next bytes, so many of them.
    func hear(_ count: Int) async throws -> String {
        while all.utf8.count < taken + count, let piece = try await next() { all += piece }
        let heard = String(decoding: all.utf8.dropFirst(taken).prefix(count), as: UTF8.self)
        taken += heard.utf8.count
        return heard
    }

    func untilClosed() async throws {
        while let piece = try await next() { all += piece }
    }

    private func next() async throws -> String? {
        var iterator = pieces
        defer { pieces = iterator }
        return try await iterator.next(isolation: self)
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let continuation: AsyncThrowingStream<String, any Error>.Continuation

        init(_ continuation: AsyncThrowingStream<String, any Error>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

        // A reset is an end too.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
