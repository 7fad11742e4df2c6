import NIOCore
import NIOPosix
import NIOSSL

/// What both listeners of the gateway have in common: connections with TLS and client certificates.
enum TLSServer {
    typealias Connections<Inbound: Sendable, Outbound: Sendable> = NIOAsyncChannel<
        NIOAsyncChannel<Inbound, Outbound>?, Never
    >

    /// Listens. A connection that is not let in is closed at once, and is nil.
    ///
    /// Any certificate is taken in the handshake: whether it is known is looked up afterwards, by its fingerprint alone.
    static func bind<Inbound: Sendable, Outbound: Sendable>(
        _ address: GatewayAddress, _ options: GatewayOptions,
        _ furnish: @escaping @Sendable (any Channel) throws -> NIOAsyncChannel<Inbound, Outbound>
    ) async throws -> Connections<Inbound, Outbound> {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: 1_024, initial: 1_024, maximum: 16_384)
            )
            .bind(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let peer = channel.remoteAddress
                    guard address.enter(peer) else {
                        channel.close(promise: nil)
                        return NIOAsyncChannel<Inbound, Outbound>?.none
                    }
                    channel.closeFuture.whenComplete { _ in address.left(peer) }
                    try channel.pipeline.syncOperations.addHandler(HeldInputEnd())
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(
                            context: address.context(),
                            customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }),
                        IdleStateHandler(readTimeout: options.idleTimeout))
                    return try furnish(channel)
                }
            }
        address.opened(server.channel.localAddress?.port ?? address.port)
        return server
    }

    /// Serves each connection until it is over, and returns when none is left and no more come.
    static func serve<Inbound: Sendable, Outbound: Sendable>(
        _ server: Connections<Inbound, Outbound>,
        _ body: @escaping @Sendable (NIOAsyncChannel<Inbound, Outbound>) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            try? await server.executeThenClose { connections in
                for try await connection in connections {
                    if let connection { group.addTask { await body(connection) } }
                }
            }
        }
    }
}
