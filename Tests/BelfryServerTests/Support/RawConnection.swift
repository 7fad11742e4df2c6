import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A TCP connection on which any bytes can be sent, for requests that no proper client would send.
final class RawConnection: Sendable {
    private let channel: any Channel
    private let receiver: Receiver

    private init(channel: any Channel, receiver: Receiver) {
        self.channel = channel
        self.receiver = receiver
    }

    /// - Parameters:
    ///   - base: `http://host:port`.
    ///   - tls: speaks TLS, to a server of the name `localhost`; nil for plain bytes.
    static func open(to base: String, tls: TLSConfiguration? = nil) async throws -> RawConnection {
        let receiver = Receiver()
        let port = Int(base.split(separator: ":").last ?? "") ?? 0
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    }
                    try channel.pipeline.syncOperations.addHandler(Listener(receiver: receiver))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawConnection(channel: channel, receiver: receiver)
    }

    /// The bytes received so far, as text.
    var received: String { receiver.heard.withLock { $0.text } }
    var isClosed: Bool { receiver.heard.withLock { $0.isClosed } }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Says that nothing more comes, and goes on listening.
    func finish() async throws { try await channel.close(mode: .output) }

    func close() async { try? await channel.close() }

    /// Sends all of it, waits until the server closes, and returns what it said.
    static func exchange(
        _ bytes: [UInt8], with base: String, tls: TLSConfiguration? = nil
    ) async throws -> String {
        let connection = try await open(to: base, tls: tls)
        // A server may close before it has read everything.
        try? await connection.send(bytes)
        try await eventually("the server closes") { connection.isClosed }
        return connection.received
    }

    private final class Receiver: Sendable {
        let heard = Mutex<(text: String, isClosed: Bool)>(("", false))
    }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let receiver: Receiver

        init(receiver: Receiver) { self.receiver = receiver }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            receiver.heard.withLock { $0.text += text }
        }

        func channelInactive(context: ChannelHandlerContext) { receiver.heard.withLock { $0.isClosed = true } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension TestServer {
    /// A request line with host and credentials, for the rest to be written by hand.
    func rawHead(_ line: String, of caller: Caller) -> String {
        let credentials = Data("\(caller.user):\(caller.secret)".utf8).base64EncodedString()
        return "\(line) HTTP/1.1\r\nHost: a\r\nAuthorization: Basic \(credentials)\r\n"
    }
}
