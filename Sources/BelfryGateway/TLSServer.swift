import BelfryService
import Crypto
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

/// Looks certificates up for handshakes, which wait for it on their event loops.
final class SenderChecks: Sendable {
    private final class Check: Sendable {
        let certificate: [UInt8]
        let promise: EventLoopPromise<Bool>

        init(certificate: [UInt8], promise: EventLoopPromise<Bool>) {
            self.certificate = certificate
            self.promise = promise
        }

        /// A check that is dropped has found nothing; what was answered stays as it is.
        deinit { promise.succeed(false) }
    }

    private let senders: GatewaySenders
    private let checks: AsyncStream<Check>
    private let asked: AsyncStream<Check>.Continuation

    /// Look-ups at a time.
    private static let widthMax = 32
    /// The most checks that wait. Beyond them a certificate counts as unknown.
    private static let waitingMax = 1_024

    init(_ senders: GatewaySenders) {
        self.senders = senders
        (checks, asked) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.waitingMax))
    }

    /// Whether a certificate in DER chooses a platform; false where that cannot be found out.
    func isKnown(_ certificate: [UInt8], on eventLoop: any EventLoop) -> EventLoopFuture<Bool> {
        let promise = eventLoop.makePromise(of: Bool.self)
        asked.yield(Check(certificate: certificate, promise: promise))
        return promise.futureResult
    }

    /// Answers until no more are asked for.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await check in checks {
                if running == Self.widthMax { _ = await group.next() } else { running += 1 }
                group.addTask { [senders] in
                    let platform = try? await senders.platform(of: check.certificate)
                    check.promise.succeed(platform != nil)
                }
            }
        }
    }

    func finish() { asked.finish() }
}

/// Finds the platform that a sender's certificate chooses.
struct GatewaySenders: Sendable {
    let store: any Store
    let clock: any WallClock

    /// nil for a certificate that chooses none, or that has expired.
    func platform(of certificate: [UInt8]) async throws -> Platform? {
        guard !certificate.isEmpty else { return nil }
        let fingerprint = Array(SHA256.hash(data: certificate))
        guard let credential = try await store.gatewayCredential(fingerprint),
            credential.expiresAt.map({ clock.now < $0 }) ?? true
        else { return nil }
        return try await store.platform(credential.platform)
    }
}
