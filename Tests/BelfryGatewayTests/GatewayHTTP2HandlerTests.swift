import NIOCore
import NIOEmbedded
import Testing

@testable import BelfryGateway

/// A connection of HTTP/2, without TLS and without a network.
@Suite struct GatewayHTTP2HandlerTests {
    /// Counts how often the connection is read.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var count = 0

        func read(context: ChannelHandlerContext) { count += 1 }
    }

    /// The preface, empty settings and some pings. Source: RFC 9113 §3.4, §6.5 and §6.7.
    private static func greeting(pings: Int) -> ByteBuffer {
        var buffer = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        buffer.writeBytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        for _ in 0..<pings { buffer.writeBytes([0, 0, 8, 6, 0, 0, 0, 0, 0] + Array("12345678".utf8)) }
        return buffer
    }

    @Test func `a sender that reads no answers is not read either, until it does`() throws {
        let channel = EmbeddedChannel()
        let reads = Reads()
        try channel.pipeline.syncOperations.addHandlers(reads, GatewayHTTP2Handler())
        channel.pipeline.fireChannelActive()
        channel.read()
        #expect(reads.count == 1)

        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        try channel.writeInbound(Self.greeting(pings: 100))
        var answered = 0
        while let output = try channel.readOutbound(as: ByteBuffer.self) { answered += output.readableBytes }
        #expect(answered >= 100 * 17, "what was read is answered")
        let before = reads.count
        channel.read()
        #expect(reads.count == before)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(reads.count == before + 1)
    }
}
