import NIOCore
import NIOPosix
import Synchronization

/// A name server of the tests' own on the loopback, which answers by UDP as a closure says.
final class NameServer: Sendable {
    let address: String
    private let channel: any Channel
    private let log: Log

    private final class Log: Sendable {
        let names = Mutex<[String]>([])
    }

    /// The names that were asked for, in order, with the type: 1 for IPv4, 28 for IPv6.
    var asked: [String] { log.names.withLock { $0 } }

    private init(channel: any Channel, log: Log) {
        self.channel = channel
        self.log = log
        address = "127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// - Parameter answer: addresses of a name, none for a name that does not exist; nil never answers.
    static func start(answer: @escaping @Sendable (String) -> [String]?) async throws -> NameServer {
        let log = Log()
        let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer: answer, log: log))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        return NameServer(channel: channel, log: log)
    }

    func stop() async throws { try await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>

        private let answer: @Sendable (String) -> [String]?
        private let log: Log

        init(answer: @escaping @Sendable (String) -> [String]?, log: Log) {
            self.answer = answer
            self.log = log
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            guard let question = Question(envelope.data) else { return }
            log.names.withLock { $0.append("\(question.name) \(question.type)") }
            guard let found = answer(question.name) else { return }
            let reply = AddressedEnvelope(
                remoteAddress: envelope.remoteAddress, data: question.reply(found, context.channel.allocator))
            context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
        }
    }

    /// Source: RFC 1035 §4.
    private struct Question {
        let id: UInt16
        let name: String
        let type: UInt16
        let bytes: [UInt8]

        init?(_ datagram: ByteBuffer) {
            let whole = datagram
            var datagram = datagram
            guard let id = datagram.readInteger(as: UInt16.self), datagram.readBytes(length: 10) != nil else {
                return nil
            }
            let start = datagram.readerIndex
            var labels: [String] = []
            while let length = datagram.readInteger(as: UInt8.self), length > 0 {
                guard let label = datagram.readString(length: Int(length)) else { return nil }
                labels.append(label)
            }
            guard let type = datagram.readInteger(as: UInt16.self), datagram.readInteger(as: UInt16.self) != nil,
                let bytes = whole.getBytes(at: start, length: datagram.readerIndex - start)
            else { return nil }
            self.id = id
            name = labels.joined(separator: ".")
            self.type = type
            self.bytes = bytes
        }

        func reply(_ found: [String], _ allocator: ByteBufferAllocator) -> ByteBuffer {
            let records = found.compactMap { try? SocketAddress(ipAddress: $0, port: 0) }
                .compactMap { address -> [UInt8]? in
                    switch address {
                    case .v4(let address) where type == 1:
                        withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
                    case .v6(let address) where type == 28:
                        withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
                    default: nil
                    }
                }
            var buffer = allocator.buffer(capacity: 512)
            buffer.writeInteger(id)
            buffer.writeInteger(found.isEmpty ? UInt16(0x8183) : 0x8180)
            for count in [1, UInt16(records.count), 0, 0] { buffer.writeInteger(count) }
            buffer.writeBytes(bytes)
            for record in records {
                buffer.writeInteger(UInt16(0xC00C))
                for value in [type, 1] { buffer.writeInteger(value) }
                buffer.writeInteger(UInt32(30))
                buffer.writeInteger(UInt16(record.count))
                buffer.writeBytes(record)
            }
            return buffer
        }
    }
}
