import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Records of command 2, as bytes. Source: Apple, "Binary Provider API".
struct GatewayRecords: Sendable {
    /// The tokens of the devices that are notified, in turn.
    let tokens: [[UInt8]]
    private static let payload = Array(#"{"aps":{"alert":"\#(String(repeating: "x", count: 120))"}}"#.utf8)

    func write(_ number: Int, expiry: UInt32, to buffer: inout ByteBuffer) {
        let token = tokens[number % tokens.count]
        buffer.writeInteger(2 as UInt8)
        buffer.writeInteger(UInt32(3 + token.count + 3 + Self.payload.count + 7 + 7 + 4))
        item(1, token, &buffer)
        item(2, Self.payload, &buffer)
        head(3, 4, &buffer)
        buffer.writeInteger(UInt32(truncatingIfNeeded: number))
        head(4, 4, &buffer)
        buffer.writeInteger(expiry)
        head(5, 1, &buffer)
        buffer.writeInteger(10 as UInt8)
    }

    private func head(_ id: UInt8, _ length: Int, _ buffer: inout ByteBuffer) {
        buffer.writeInteger(id)
        buffer.writeInteger(UInt16(length))
    }

    private func item(_ id: UInt8, _ bytes: [UInt8], _ buffer: inout ByteBuffer) {
        head(id, bytes.count, &buffer)
        buffer.writeBytes(bytes)
    }
}

/// A connection of an old sender: it writes records without waiting, as fast as they are read.
struct GatewayConnection: Sendable {
    private let channel: any Channel
    private let writer: NIOLoopBound<RecordWriter>

    /// - Parameters:
    ///   - authority: the file of the gateway's certificate.
    ///   - identity: the sender's, with its passphrase.
    static func tls(authority: String, identity: String, passphrase: String) throws -> NIOSSLContext {
        let bundle = try NIOSSLPKCS12Bundle(file: identity, passphrase: passphrase.utf8)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(authority)
        configuration.certificateChain = bundle.certificateChain.map { .certificate($0) }
        configuration.privateKey = .privateKey(bundle.privateKey)
        return try NIOSSLContext(configuration: configuration)
    }

    static func open(port: Int, _ context: NIOSSLContext, _ records: GatewayRecords) async throws -> GatewayConnection {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return try await ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { channel in
                let writer = RecordWriter(records)
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLClientHandler(context: context, serverHostname: "localhost"), writer)
                return GatewayConnection(channel: channel, writer: NIOLoopBound(writer, eventLoop: loop))
            }.get()
    }

    /// Writes the records of these numbers, and returns when the last is written.
    func send(_ numbers: Range<Int>) async throws {
        let done = channel.eventLoop.makePromise(of: Void.self)
        channel.eventLoop.execute { [writer] in writer.value.begin(numbers, done) }
        try await done.futureResult.get()
    }

    var isOpen: Bool { channel.isActive }

    func close() async throws { if channel.isActive { try await channel.close() } }
}

private final class RecordWriter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let records: GatewayRecords
    private let expiry = UInt32(Date().timeIntervalSince1970) + 86_400
    private var left = 0..<0
    private var done: EventLoopPromise<Void>?
    private var context: ChannelHandlerContext?
    private static let recordsAtOnce = 32

    init(_ records: GatewayRecords) { self.records = records }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func begin(_ numbers: Range<Int>, _ done: EventLoopPromise<Void>) {
        (left, self.done) = (numbers, done)
        write()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { write() }

    private func write() {
        guard let context, done != nil else { return }
        while context.channel.isWritable, !left.isEmpty {
            var buffer = context.channel.allocator.buffer(capacity: Self.recordsAtOnce * 256)
            for number in left.prefix(Self.recordsAtOnce) { records.write(number, expiry: expiry, to: &buffer) }
            left = left.dropFirst(Self.recordsAtOnce)
            context.writeAndFlush(wrapOutboundOut(buffer), promise: left.isEmpty ? done : nil)
        }
        if left.isEmpty { done = nil }
    }

    /// A gateway says nothing of records that are good.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        end(BenchmarkFault("the gateway said \(Array(unwrapInboundIn(data).readableBytesView))"))
    }

    func channelInactive(context: ChannelHandlerContext) { end(BenchmarkFault("the gateway closed a connection")) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    private func end(_ error: any Error) {
        done?.fail(error)
        done = nil
    }
}
