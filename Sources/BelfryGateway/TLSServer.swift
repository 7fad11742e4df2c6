import NIOCore
import NIOPosix
import NIOSSL

/// The shared part of both listeners of the gateway: connections with TLS and client certificates.
enum TLSServer {
    typealias Connections<Inbound: Sendable, Outbound: Sendable> = NIOAsyncChannel<
        NIOAsyncChannel<Inbound, Outbound>?, Never
    >

    /// Listens. A connection that is not let in is closed at once, and is nil.
    ///
    /// Whether a certificate is known is looked up in the handshake, by its fingerprint alone: with an unknown one the handshake
    /// ends with an alert of TLS.
    static func bind<Inbound: Sendable, Outbound: Sendable>(
        _ address: GatewayAddress, _ options: GatewayOptions, _ checks: SenderChecks,
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
                    let input = DeferredEOFHandler()
                    try channel.pipeline.syncOperations.addHandler(input)
                    let bound = NIOLoopBound(input, eventLoop: channel.eventLoop)
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(
                            context: address.context(),
                            customVerificationCallback: { certificates, promise in
                                bound.value.holdReads()
                                let certificate = (try? certificates.first?.toDERBytes()) ?? []
                                checks.isKnown(certificate, on: channel.eventLoop).whenComplete { found in
                                    let isKnown = if case .success(true) = found { true } else { false }
                                    promise.succeed(isKnown ? .certificateVerified : .failed)
                                    bound.value.readOn()
                                }
                            }),
                        IdleStateHandler(readTimeout: options.idleTimeout))
                    return try furnish(channel)
                }
            }
        address.opened(server.channel)
        return server
    }

    /// Serves each connection until it is over, and returns when none is left and no more come.
    static func serve<Inbound: Sendable, Outbound: Sendable>(
        _ server: Connections<Inbound, Outbound>, _ checks: SenderChecks,
        _ body: @escaping @Sendable (NIOAsyncChannel<Inbound, Outbound>) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await checks.run() }
            defer { checks.finish() }
            try? await server.executeThenClose { connections in
                for try await connection in connections {
                    if let connection { group.addTask { await body(connection) } }
                }
            }
        }
    }
}
