package import NIOCore
import NIOPosix
package import NIOSSL
package import Tunnel

/// How a TCP connection comes about, directly or through a proxy.
package enum ClientChannel {
    /// Connects by name; the proxy resolves it where there is one.
    ///
    /// Must be called on the event loop itself, so that handlers are set before any event.
    ///
    /// - Parameters:
    ///   - lookUp: finds the addresses of the host where there is no proxy; nil asks the system.
    ///   - admitsPeer: looks at the address of a direct connection before the handlers behind may speak.
    ///   - initializer: adds the handlers; to them the channel becomes active when the peer is reached and admitted.
    package static func connect(
        to host: String, port: Int, through tunnel: Tunnel?, lookUp: HostLookup?,
        admitsPeer: (@Sendable (SocketAddress) -> Bool)?, within amount: TimeAmount, on eventLoop: any EventLoop,
        initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .channelOption(.writeBufferWaterMark, value: .init(low: 64 * 1_024, high: 256 * 1_024))
        if let tunnel {
            // The rest of the time is for TLS and what follows, so that the blame for a wait falls on whom it should.
            let deadline = NIODeadline.now() + .nanoseconds(amount.nanoseconds / 5 * 4)
            return tunnel.open(
                to: host, port: port, by: deadline, with: bootstrap, on: eventLoop, initializer: initializer)
        }
        return
            bootstrap
            .resolving(host, by: lookUp, on: eventLoop)
            .connectTimeout(amount)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let admitsPeer { try channel.pipeline.syncOperations.addHandler(PeerCheck(admitsPeer)) }
                    try initializer(channel)
                }
            }
            .connect(host: host, port: port)
    }

    /// - Parameter name: what the peer's certificate has to bear: a host name or an address.
    package static func makeTLS(_ tls: NIOSSLContext, _ name: String) throws -> NIOSSLClientHandler {
        // An address cannot be sent as SNI; NIOSSL then verifies the certificate against the peer's address.
        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : name)
    }
}

/// Stands first in the pipeline and ends a connection whose peer may not be spoken to, before anything is said.
private final class PeerCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let admits: @Sendable (SocketAddress) -> Bool

    init(_ admits: @escaping @Sendable (SocketAddress) -> Bool) { self.admits = admits }

    func channelActive(context: ChannelHandlerContext) {
        guard let peer = context.remoteAddress, admits(peer) else {
            context.fireErrorCaught(HTTP2ConnectError(code: .addressRefused, reason: "the address is not public"))
            return context.close(promise: nil)
        }
        context.fireChannelActive()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
