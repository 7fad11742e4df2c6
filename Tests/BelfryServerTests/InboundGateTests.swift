import BelfryService
import NIOCore
import NIOEmbedded
import Testing

@testable import BelfryServer

/// The bytes that a connection holds from a client, and the moment when it reads on.
@Suite struct InboundGateTests {
    private let gate = InboundGate(buffered: BufferedBytes(listener: "test", outboundMax: 1))
    private let inner = Inner()
    private let outer = Outer()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [outer, gate, inner])
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    }

    private func receive(_ count: Int) {
        channel.pipeline.fireChannelRead(ByteBuffer(repeating: 0x61, count: count))
        channel.pipeline.fireChannelReadComplete()
    }

    @Test func `one site holds half of what is unread`() throws {
        let buffered = BufferedBytes(listener: "test", outboundMax: 100)
        let site = try #require(NetworkAddress("192.0.2.1"))
        #expect(!buffered.outbound(changedBy: 50, of: site))
        #expect(buffered.outbound(changedBy: 1, of: site))
        #expect(!buffered.outbound(changedBy: 49, of: nil), "others have the rest")
        #expect(buffered.outbound(changedBy: 1, of: nil))
        #expect(!buffered.outbound(changedBy: -51, of: site) && !buffered.outbound(changedBy: 20, of: site))
    }

    @Test func `wanted data are passed on in slices`() {
        receive(2_500)
        #expect(inner.slices == [1_024, 1_024, 452])
        #expect(inner.readCompletes == 1)
    }

    @Test func `unwanted data wait and reading stops`() {
        inner.onRead = { [gate] in gate.turn(to: .held) }
        receive(2_500)
        #expect(inner.slices == [1_024])
        let reads = outer.reads
        channel.pipeline.read()
        #expect(outer.reads == reads)
        inner.onRead = {}
        gate.turn(to: .open)
        #expect(inner.slices == [1_024, 1_024, 452])
        #expect(outer.reads == reads + 1)
    }

    @Test func `one read goes ahead of what is answered`() {
        gate.turn(to: .held)
        channel.pipeline.read()
        #expect(outer.reads == 1)
        receive(10)
        channel.pipeline.read()
        #expect(outer.reads == 1)
        #expect(inner.slices == [])
    }

    @Test func `end of input is reported early, then after held data`() {
        gate.turn(to: .held)
        receive(10)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(inner.events == ["finished"])
        gate.turn(to: .open)
        #expect(inner.slices == [10])
        #expect(inner.events == ["finished", "closed"])
    }

    @Test func `data without a handler are dropped`() {
        gate.turn(to: .discarding)
        receive(1_000_000)
        #expect(inner.slices == [])
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(inner.events == ["finished", "closed"])
    }

    @Test func `an unfinished request is reported when the gate opens`() {
        gate.turn(to: .held)
        gate.turn(to: .open)
        #expect(inner.readCompletes == 1)
    }

    /// The handler before the gate: the connection.
    private final class Outer: ChannelOutboundHandler {
        typealias OutboundIn = Never
        var reads = 0

        func read(context: ChannelHandlerContext) {
            reads += 1
            context.read()
        }
    }

    /// The handler behind the gate.
    private final class Inner: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var slices: [Int] = []
        var readCompletes = 0
        var events: [String] = []
        var onRead: () -> Void = {}

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            slices.append(unwrapInboundIn(data).readableBytes)
            onRead()
        }

        func channelReadComplete(context: ChannelHandlerContext) { readCompletes += 1 }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case is InboundGate.ClientFinished: events.append("finished")
            case ChannelEvent.inputClosed: events.append("closed")
            default: break
            }
        }
    }
}
