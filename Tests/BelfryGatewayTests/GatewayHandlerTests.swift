import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import BelfryGateway

/// The handler of a connection, without TLS and without a network.
@Suite struct GatewayHandlerTests {
    /// Counts how often the connection is read.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var count = 0

        func read(context: ChannelHandlerContext) { count += 1 }
    }

    private struct Line {
        let channel: EmbeddedChannel
        let reads = Reads()
        let held = HeldBytes(limit: 1 << 22).share(of: nil)

        init(window: Int = 1_000) throws {
            var options = GatewayOptions()
            options.window = window
            channel = EmbeddedChannel()
            channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1), promise: nil)
            try channel.pipeline.syncOperations.addHandlers(reads, GatewayHandler(options, held: held))
            channel.pipeline.fireChannelActive()
            channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
            guard case .certificate? = try channel.readInbound(as: GatewayInbound.self) else {
                Issue.record("the certificate comes first")
                return
            }
        }

        func tell(_ command: GatewayCommand) { channel.triggerUserOutboundEvent(command, promise: nil) }

        func write(_ count: Int, from first: UInt32 = 0) throws {
            var buffer = ByteBuffer()
            for number in 0..<UInt32(count) {
                buffer.writeBytes(
                    GatewayRecord(
                        command: .enhanced, identifier: first + number, token: [UInt8](repeating: 1, count: 32),
                        payload: [2], expiry: 0
                    ).bytes)
            }
            try channel.writeInbound(buffer)
        }

        /// The identifiers of the records that were passed on since.
        func records() throws -> [UInt32] {
            var identifiers: [UInt32] = []
            while let event = try channel.readInbound(as: GatewayInbound.self) {
                if case .records(let records) = event { identifiers += records.map(\.identifier) }
            }
            return identifiers
        }
    }

    @Test func `nothing is read before the certificate is known`() throws {
        let line = try Line()
        let before = line.reads.count
        line.channel.read()
        #expect(line.reads.count == before)
        line.tell(.admit)
        #expect(line.reads.count == before + 1)
        try line.write(3)
        #expect(try line.records() == [0, 1, 2])
    }

    @Test func `an unfinished record closes the connection, however it comes`() throws {
        let line = try Line()
        line.tell(.admit)
        let record = GatewayRecord(
            command: .enhanced, identifier: 1, token: [UInt8](repeating: 1, count: 32), payload: [2, 3, 4, 5, 6, 7],
            expiry: 0
        ).bytes
        try line.channel.writeInbound(ByteBuffer(bytes: record + record.prefix(5)))
        #expect(try line.records() == [1])
        for byte in record.dropFirst(5).prefix(6) {
            line.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
            try line.channel.writeInbound(ByteBuffer(bytes: [byte]))
        }
        #expect(line.channel.isActive)
        line.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(line.channel.isActive)
        line.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(!line.channel.isActive)
    }

    @Test func `one window may be unsettled, then reading stops`() throws {
        let line = try Line(window: 10)
        line.tell(.admit)
        try line.write(25)
        #expect(try line.records() == Array(0..<10))
        let before = line.reads.count
        line.channel.read()
        #expect(line.reads.count == before)
        line.tell(.settled(4))
        #expect(try line.records() == Array(10..<14))
        #expect(line.reads.count == before, "the window is full again")
        line.tell(.settled(10))
        line.tell(.settled(10))
        #expect(try line.records() == Array(14..<25))
        #expect(line.reads.count == before + 1)
    }

    @Test func `the last word closes our side and drops the rest`() throws {
        let line = try Line()
        line.tell(.admit)
        line.tell(.end(GatewayError(.invalidToken, identifier: 7)))
        let word = try #require(try line.channel.readOutbound(as: ByteBuffer.self))
        #expect(Array(word.readableBytesView) == [8, 8, 0, 0, 0, 7])
        line.tell(.end(GatewayError(.shutdown, identifier: 9)))
        #expect(try line.channel.readOutbound(as: ByteBuffer.self) == nil, "there is one last word")
        try? line.write(5)
        #expect(try line.records() == [])
    }

    @Test func `a stop follows the records before it`() throws {
        let line = try Line()
        line.tell(.admit)
        try line.write(2)
        line.tell(.stop)
        try line.write(2, from: 2)
        guard case .records(let records)? = try line.channel.readInbound(as: GatewayInbound.self),
            case .stopping? = try line.channel.readInbound(as: GatewayInbound.self)
        else {
            Issue.record("the records, then the stop")
            return
        }
        #expect(records.count == 2)
        #expect(try line.channel.readInbound(as: GatewayInbound.self) == nil)
    }

    @Test func `a sender that hides behind a handshake is cut off`() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(
            GatewayHandler(GatewayOptions(), held: HeldBytes(limit: 1).share(of: nil)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(11))
        #expect(!channel.isActive)
    }
}
