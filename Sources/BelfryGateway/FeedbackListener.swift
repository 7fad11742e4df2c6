package import BelfryService
package import Logging
import NIOCore
import NIOSSL
import NIOTLS
import ServiceLifecycle

/// Tells old senders which devices lost the app, each once: Apple's feedback service.
package struct FeedbackListener: Service {
    private let address: GatewayAddress
    private let options: GatewayOptions
    private let store: any Store
    private let senders: GatewaySenders
    private let logger: Logger

    /// Tuples that are read and written at a time.
    private static let tuplesAtOnce = 500

    package init(
        _ address: GatewayAddress, options: GatewayOptions = GatewayOptions(),
        store: any Store, clock: any WallClock, logger: Logger
    ) {
        self.address = address
        self.options = options
        self.store = store
        senders = GatewaySenders(store: store, clock: clock)
        self.logger = logger
    }

    package func run() async throws {
        let checks = SenderChecks(senders)
        let server = try await TLSServer.bind(address, options, checks) { channel in
            try channel.pipeline.syncOperations.addHandler(HandshakeHandler(timeout: options.handshakeTimeout))
            return try NIOAsyncChannel<[UInt8], ByteBuffer>(
                wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
        await withGracefulShutdownHandler {
            await TLSServer.serve(server, checks) { await serve($0) }
        } onGracefulShutdown: {
            server.channel.close(promise: nil)
        }
    }

    private func serve(_ connection: NIOAsyncChannel<[UInt8], ByteBuffer>) async {
        do {
            try await connection.executeThenClose { inbound, outbound in
                guard let certificate = try await inbound.first(where: { _ in true }),
                    let platform = try await senders.platform(of: certificate)
                else { return }
                try await tell(platform, outbound)
            }
        } catch {
            logger.debug("a connection of the feedback service ended", metadata: ["error": "\(error)"])
        }
    }

    /// The list is cleared once all of it is written: what is lost here would be lost for good.
    private func tell(_ platform: Platform, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws {
        var last: Feedback?
        while true {
            let found = try await store.feedback(of: platform.key, after: last, limit: Self.tuplesAtOnce)
            guard !found.isEmpty else { break }
            last = found.last
            var buffer = ByteBuffer()
            for feedback in found { buffer.writeBytes(FeedbackTuple(feedback).bytes) }
            try await outbound.write(buffer)
        }
        outbound.finish()
        if let last { try await store.deleteFeedback(of: platform.key, upTo: last) }
    }
}

extension FeedbackTuple {
    fileprivate init(_ feedback: Feedback) {
        self.init(time: UInt32(clamping: feedback.since.milliseconds / 1_000), token: feedback.token.bytes)
    }
}

/// Passes the sender's certificate on, in DER, and drops whatever the sender writes.
private final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = [UInt8]

    private let timeout: TimeAmount
    private var deadline: Scheduled<Void>?

    init(timeout: TimeAmount) { self.timeout = timeout }

    func handlerAdded(context: ChannelHandlerContext) {
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.value.eventLoop.scheduleTask(in: timeout) { context.value.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            deadline?.cancel()
            context.triggerUserOutboundEvent(DeferredEOFHandler.HandshakeIsOver(), promise: nil)
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            context.fireChannelRead(wrapInboundOut((try? certificate?.toDERBytes()) ?? []))
            context.fireChannelReadComplete()
            return
        }
        // A sender that has closed its side still reads.
        if case .inputClosed? = event as? ChannelEvent { return }
        if case .read? = event as? IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        context.close(promise: nil)
    }
}
