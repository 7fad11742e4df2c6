package import BelfryService
package import Logging
import NIOCore
import NIOSSL
import NIOTLS
import ServiceLifecycle
import Synchronization

/// Tells old senders which devices lost the app, each once: Apple's feedback service.
///
/// What was told is deleted when the sender has closed its side without an error: what is lost here would be lost for good. The rest
/// stays, and is told again.
package struct FeedbackListener: Service {
    private let address: GatewayAddress
    private let options: GatewayOptions
    private let store: any Store
    private let senders: GatewaySenders
    private let logger: Logger
    private let told = ToldPlatforms()

    /// Tuples that are read, written and deleted at a time.
    private static let tuplesAtOnce = 500
    /// A connection is told so many times as many; the next one is told the rest.
    private static let pagesMax = 100
    private typealias ToldTuples = [(key: Key<Feedback>, since: Instant)]

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
            // Without half closure: a channel without output ends its output at once.
            return try NIOAsyncChannel<[UInt8], Never>(wrappingChannelSynchronously: channel)
        }
        await withGracefulShutdownHandler {
            await TLSServer.serve(server, checks) { await serve($0) }
        } onGracefulShutdown: {
            server.channel.close(promise: nil)
        }
    }

    private func serve(_ connection: NIOAsyncChannel<[UInt8], Never>) async {
        let channel = connection.channel
        do {
            try await connection.executeThenClose { inbound in
                var events = inbound.makeAsyncIterator()
                guard let certificate = try await events.next(),
                    let platform = try await senders.platform(of: certificate), told.begin(platform.key)
                else { return }
                defer { told.end(platform.key) }
                let pages = try await tell(platform, channel)
                channel.close(mode: .output, promise: nil)
                let deadline = deadline(of: channel)
                defer { deadline.cancel() }
                while try await events.next() != nil {}
                for page in pages { try await store.deleteFeedback(page) }
            }
        } catch {
            logger.debug("a connection of the feedback service ended", metadata: ["error": "\(error)"])
        }
    }

    private func tell(_ platform: Platform, _ channel: any Channel) async throws -> [ToldTuples] {
        var pages: [ToldTuples] = []
        var last: Feedback?
        while pages.count < Self.pagesMax {
            let found = try await store.feedback(of: platform.key, after: last, limit: Self.tuplesAtOnce)
            guard !found.isEmpty else { break }
            let buffer = ByteBuffer(bytes: found.flatMap { FeedbackTuple($0).bytes })
            // Until the kernel has it: a close would drop what it has not.
            let deadline = deadline(of: channel)
            defer { deadline.cancel() }
            try await channel.writeAndFlush(buffer)
            last = found.last
            pages.append(found.map { (key: $0.key, since: $0.since) })
        }
        return pages
    }

    /// Ends the connection with an error where the sender takes too long.
    private func deadline(of channel: any Channel) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: options.writeTimeout) {
            channel.pipeline.fireErrorCaught(SenderIsSilent())
        }
    }
}

private struct SenderIsSilent: Error {}

/// The platforms whose list is being told. Another connection of theirs gets none meanwhile, so that each list is in memory once.
private final class ToldPlatforms: Sendable {
    private let platforms = Mutex<Set<Key<Platform>>>([])

    func begin(_ platform: Key<Platform>) -> Bool { platforms.withLock { $0.insert(platform).inserted } }

    func end(_ platform: Key<Platform>) { platforms.withLock { _ = $0.remove(platform) } }
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
        if case .read? = event as? IdleStateHandler.IdleStateEvent {
            errorCaught(context: context, error: SenderIsSilent())
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}
