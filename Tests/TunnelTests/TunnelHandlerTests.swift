import NIOCore
import NIOEmbedded
import Testing

@testable import Tunnel

@Suite struct TunnelHandlerTests {
    /// Stands behind the tunnel, as TLS does.
    private final class Behind: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var seen: [String] = []

        func channelActive(context: ChannelHandlerContext) { seen.append("active") }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            seen.append(String(buffer: unwrapInboundIn(data)))
        }
        func channelReadComplete(context: ChannelHandlerContext) { seen.append("complete") }
        func channelInactive(context: ChannelHandlerContext) { seen.append("inactive") }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { seen.append("error") }
    }

    private struct Fixture {
        let channel = EmbeddedChannel()
        let behind = Behind()
        let handler: TunnelHandler

        init(login: ProxyLogin? = nil) throws {
            handler = TunnelHandler(
                ConnectHandshake(target: HandshakeTests.target, login: login), lapsesAt: .now() + .seconds(5),
                eventLoop: channel.embeddedEventLoop)
            try channel.pipeline.syncOperations.addHandlers([handler, behind])
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        func say(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

        func heard() throws -> String? { try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }

        func failure() -> TunnelError? {
            var failure: TunnelError?
            handler.opened.assumeIsolated().whenFailure { failure = $0 as? TunnelError }
            return failure
        }
    }

    @Test func `later handlers see the channel active once tunnelled`() throws {
        let fixture = try Fixture()
        #expect(try fixture.heard()?.hasPrefix("CONNECT push.example:443 ") == true)
        for piece in "HTTP/1.1 200 OK\r\n\r".map(String.init) { try fixture.say(piece) }
        #expect(fixture.behind.seen == [])
        try fixture.say("\nhello")
        #expect(fixture.behind.seen.prefix(2) == ["active", "hello"])
        try fixture.say("more")
        #expect(fixture.behind.seen.contains("more"))
        #expect(throws: (any Error).self) {
            try fixture.channel.pipeline.syncOperations.handler(type: TunnelHandler.self)
        }
        _ = try fixture.channel.finish()
    }

    @Test func `a refusal closes the connection, and nothing more is read`() throws {
        let fixture = try Fixture()
        try fixture.say("HTTP/1.1 403 no\r\n\r\n")
        #expect(fixture.failure()?.code == .refused)
        #expect(!fixture.channel.isActive)
        #expect(!fixture.behind.seen.contains("active"))
    }

    @Test func `a closing proxy differs from a silent one`() throws {
        let closed = try Fixture()
        closed.channel.pipeline.fireChannelInactive()
        #expect(closed.failure()?.code == .garbled)
        let silent = try Fixture()
        silent.channel.embeddedEventLoop.advanceTime(to: .now() + .seconds(60))
        #expect(silent.failure()?.code == .deadline)
        #expect(!silent.channel.isActive)
    }

    @Test func `an open tunnel has no deadline`() throws {
        let fixture = try Fixture()
        try fixture.say("HTTP/1.1 200 OK\r\n\r\n")
        fixture.channel.embeddedEventLoop.advanceTime(to: .now() + .seconds(60))
        #expect(fixture.channel.isActive)
        #expect(fixture.failure() == nil)
        _ = try fixture.channel.finish()
    }
}
