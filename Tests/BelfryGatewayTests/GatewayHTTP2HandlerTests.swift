import NIOCore
import NIOEmbedded
import NIOTLS
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

    private struct Line {
        let channel = EmbeddedChannel()
        let reads = Reads()

        init(_ share: HeldBytes.Share = HeldBytes(limit: 64 << 20).share(of: nil), isAdmitted: Bool = true) throws {
            try channel.pipeline.syncOperations.addHandlers(reads, GatewayHTTP2Handler(GatewayOptions(), held: share))
            channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1), promise: nil)
            channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
            guard case .certificate? = try channel.readInbound(as: GatewayInbound.self) else {
                Issue.record("the certificate comes first")
                return
            }
            if isAdmitted {
                tell(.admit)
                try write(HTTP2Frames.preface)
            }
            _ = try frames()
        }

        func tell(_ command: GatewayCommand) { channel.triggerUserOutboundEvent(command, promise: nil) }

        func write(_ bytes: [UInt8]) throws {
            channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
            channel.pipeline.fireChannelReadComplete()
            channel.embeddedEventLoop.run()
        }

        func pass(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

        /// The frames written since the last call.
        func frames() throws -> [(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] {
            var bytes: [UInt8] = []
            while let output = try channel.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer: output) }
            return HTTP2Frames.parse(bytes)
        }

        /// The streams that were reset since, with the error.
        func resets() throws -> [UInt32: UInt8] {
            Dictionary(try frames().filter { $0.type == 3 }.map { ($0.stream, $0.payload[3]) }) { $1 }
        }

        func requests() throws -> [GatewayRequest] {
            var requests: [GatewayRequest] = []
            while let event = try channel.readInbound(as: GatewayInbound.self) {
                if case .requests(let more) = event { requests += more }
            }
            return requests
        }
    }

    @Test func `a sender that reads no answers is throttled and closed`() throws {
        let line = try Line()
        line.channel.read()
        #expect(line.reads.count == 1)
        line.channel.isWritable = false
        line.channel.pipeline.fireChannelWritabilityChanged()
        try line.write((0..<100).flatMap { _ in HTTP2Frames.ping() })
        #expect(try line.frames().count >= 100, "what was read is answered")
        let before = line.reads.count
        line.channel.read()
        #expect(line.reads.count == before)
        line.channel.isWritable = true
        line.channel.pipeline.fireChannelWritabilityChanged()
        #expect(line.reads.count == before + 1)
        line.channel.isWritable = false
        line.channel.pipeline.fireChannelWritabilityChanged()
        line.pass(.seconds(29))
        #expect(line.channel.isActive)
        line.pass(.seconds(3))
        #expect(!line.channel.isActive)
    }

    @Test func `nothing is read nor taken before the sender is known`() throws {
        let line = try Line(isAdmitted: false)
        line.channel.read()
        #expect(line.reads.count == 0)
        try line.write(HTTP2Frames.preface + HTTP2Frames.headers(1, flags: 5))
        #expect(try line.requests().isEmpty)
        line.tell(.admit)
        #expect(try line.requests().map(\.stream) == [1])
        #expect(line.reads.count == 1)
        let stranger = try Line(isAdmitted: false)
        stranger.pass(.seconds(11))
        #expect(!stranger.channel.isActive, "who is not known in time is sent away")
    }

    @Test func `an endless request is dropped with its memory`() throws {
        let held = HeldBytes(limit: 4 << 20)
        let (share, probe) = (held.share(of: nil), held.share(of: nil))
        let line = try Line(share)
        for stream in 0..<400 { try line.write(HTTP2Frames.headers(UInt32(stream) * 2 + 1, flags: 4)) }
        #expect(!probe.isFull)
        line.pass(.seconds(8))
        #expect(try line.resets().isEmpty)
        line.pass(.seconds(4))
        #expect(try line.resets().count == 400)
        #expect(line.channel.isActive, "only the requests are given up")
        try line.write(HTTP2Frames.headers(2_001, flags: 5))
        #expect(try line.requests().map(\.stream) == [2_001])
    }

    @Test func `an endless header block closes the connection`() throws {
        let line = try Line()
        try line.write(HTTP2Frames.headers(1, flags: 1))
        line.pass(.seconds(8))
        #expect(line.channel.isActive)
        line.pass(.seconds(4))
        #expect(!line.channel.isActive)
    }

    @Test func `streams beyond an address's or the total limit are refused`() throws {
        let held = HeldBytes(limit: 1 << 20)
        let address = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let (one, two) = (try Line(held.share(of: address)), try Line(held.share(of: address)))
        var (taken, refused) = (0, 0)
        for line in [one, two] {
            for stream in 0..<200 { try line.write(HTTP2Frames.headers(UInt32(stream) * 2 + 1, flags: 4)) }
            let resets = try line.resets()
            #expect(resets.values.allSatisfy { $0 == 7 }, "REFUSED_STREAM: it may be sent again")
            refused += resets.count
            taken += 200 - resets.count
        }
        // 2 KiB each, with the 16 bytes of method and path.
        #expect(taken == (1 << 20) / 4 / 2_064 + 1 && refused == 400 - taken, "\(taken) were taken")
        // A neighbour has room.
        let other = try Line(held.share(of: SocketAddress(ipAddress: "192.0.2.2", port: 1)))
        try other.write(HTTP2Frames.headers(1, flags: 5))
        #expect(try other.requests().count == 1)
        // What a connection held is free when it is over.
        for line in [one, two] {
            line.channel.close(promise: nil)
            line.channel.embeddedEventLoop.run()
        }
        #expect(!held.share(of: address).isFull)
    }

    @Test func `answered requests release their memory`() throws {
        let held = HeldBytes(limit: 64 << 10)
        let line = try Line(held.share(of: nil))
        for round in 0..<50 {
            let streams = (0..<4).map { UInt32(round * 8 + $0 * 2 + 1) }
            for stream in streams {
                try line.write(HTTP2Frames.headers(stream, flags: 5, [("apns-id", "x")]))
            }
            #expect(try line.requests().map { UInt32($0.stream) } == streams)
            for stream in streams { line.tell(.respond(.accepted, id: "x", stream: Int32(stream))) }
            #expect(try line.resets().isEmpty)
        }
        #expect(!held.share(of: nil).isFull)
    }

    @Test(arguments: [
        (HTTP2Frames.ping(), 1_100), (HTTP2Frames.frame(4, []), 1_100),
        (HTTP2Frames.frame(2, stream: 1, [0, 0, 0, 0, 1]), 1_100),
        (HTTP2Frames.frame(8, stream: 0, [0, 0, 0, 1]), 1_100),
    ])
    func `a flood of useless frames ends the connection`(frame: [UInt8], count: Int) throws {
        let line = try Line()
        for _ in 0..<count / 10 { try line.write((0..<10).flatMap { _ in frame }) }
        #expect(!line.channel.isActive)
    }

    @Test func `streams that are opened and reset end the connection`() throws {
        let line = try Line()
        for stream in 0..<1_100 {
            try line.write(
                HTTP2Frames.headers(UInt32(stream) * 2 + 1, flags: 4) + HTTP2Frames.reset(UInt32(stream) * 2 + 1))
        }
        #expect(!line.channel.isActive)
    }

    @Test func `a header block in very many frames ends the connection`() throws {
        let line = try Line()
        try line.write(HTTP2Frames.headers(1, flags: 1))
        for _ in 0..<20 { try line.write(HTTP2Frames.frame(9, stream: 1, [])) }
        #expect(!line.channel.isActive)
    }

    @Test func `headers that grow in decoding cost little`() throws {
        let line = try Line()
        // A value of 3,000 bytes in the table of HPACK, and then one byte for each time that it is meant.
        let value = [UInt8](repeating: UInt8(ascii: "a"), count: 3_000)
        let entry: [UInt8] = [0x40, 1] + Array("b".utf8) + [0x7F, 0xB9, 0x16] + value
        try line.write(HTTP2Frames.frame(1, flags: 5, stream: 1, HTTP2Frames.request() + entry))
        for stream in 1...40 where line.channel.isActive {
            let bomb = HTTP2Frames.request() + [UInt8](repeating: 0xBE, count: 4_000)
            try line.write(HTTP2Frames.frame(1, flags: 5, stream: UInt32(stream) * 2 + 1, bomb))
        }
        #expect(try line.requests().map(\.stream) == [1])
        #expect(!line.channel.isActive)
    }

    @Test func `an answer that is not taken is given up`() throws {
        let line = try Line()
        // The window of streams is empty, so no body can be written.
        try line.write(HTTP2Frames.frame(4, [0, 4, 0, 0, 0, 0]))
        try line.write(HTTP2Frames.headers(1, flags: 5))
        line.tell(.respond(GatewayResponse(400, "BadDeviceToken"), id: "x", stream: 1))
        _ = try line.frames()
        line.pass(.seconds(12))
        #expect(try line.resets().keys.sorted() == [1])
    }

    @Test func `a long-working sender is no flood`() throws {
        let line = try Line()
        for number in 0..<5_000 {
            let stream = UInt32(number) * 2 + 1
            try line.write(HTTP2Frames.headers(stream, flags: 5) + HTTP2Frames.frame(8, stream: 0, [0, 0, 1, 0]))
            if number.isMultiple(of: 10) { try line.write(HTTP2Frames.ping()) }
            line.tell(.respond(.accepted, id: "x", stream: Int32(stream)))
        }
        #expect(line.channel.isActive)
        #expect(try line.requests().count == 5_000)
    }
}
