public import NIOCore
import NIOPosix
package import NIOSSL
package import Tunnel

extension HTTP2Connection {
    /// Connects, does the TLS handshake and waits for the server's first SETTINGS.
    ///
    /// - Parameters:
    ///   - onEvent: called, on the event loop, for events of the connection between answers.
    /// - Throws: when the connection was not ready within `configuration.connectDeadline`.
    public static func connect(
        to endpoint: HTTP2Endpoint, configuration: HTTP2Configuration = HTTP2Configuration(),
        on eventLoop: any EventLoop, onEvent: @escaping @Sendable (HTTP2Event) -> Void = { _ in }
    ) async throws(HTTP2ConnectError) -> HTTP2Connection {
        let tls = try endpoint.makeContext()
        do {
            return try await open(endpoint, tls: tls, configuration: configuration, on: eventLoop, onEvent: onEvent)
                .get()
        } catch {
            throw HTTP2ConnectError(error, host: endpoint.host, port: endpoint.port)
        }
    }

    static func open(
        _ endpoint: HTTP2Endpoint, tls: NIOSSLContext, configuration: HTTP2Configuration,
        on eventLoop: any EventLoop, onEvent: @escaping @Sendable (HTTP2Event) -> Void
    ) -> EventLoopFuture<HTTP2Connection> {
        let amount = TimeAmount.nanoseconds(Int64(clamping: configuration.connectDeadline.nanoseconds))
        let lapsesAt = NIODeadline.now() + amount
        let gauge = LoadGauge()
        // On the event loop itself, so that the observer is set before any event.
        return eventLoop.flatSubmit {
            ClientChannel.connect(
                to: endpoint.host, port: endpoint.port, through: configuration.tunnel,
                lookUp: configuration.lookUp, admitsPeer: configuration.admitsPeer, within: amount, on: eventLoop
            ) { channel in
                let handler = try HTTP2Handler(
                    configuration: configuration, eventLoop: channel.eventLoop, report: onEvent, publish: gauge.set)
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(ClientChannel.makeTLS(tls, endpoint.serverName ?? endpoint.host))
                if let take = configuration.takeHTTP1 {
                    try pipeline.addHandler(ALPNHandler.http2(handler, else: take))
                }
                try pipeline.addHandler(handler)
            }
            .flatMap { channel in
                untilReady(channel, lapsesAt: lapsesAt).flatMapThrowing {
                    let handler = try channel.pipeline.syncOperations.handler(type: HTTP2Handler.self)
                    return HTTP2Connection(
                        channel: channel, handler: handler, authority: endpoint.authority, gauge: gauge)
                }
            }
        }
    }

    /// Succeeds with the first SETTINGS, fails at `lapsesAt`.
    private static func untilReady(_ channel: any Channel, lapsesAt: NIODeadline) -> EventLoopFuture<Void> {
        do {
            let handler = try channel.pipeline.syncOperations.handler(type: HTTP2Handler.self)
            let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
            let last = channel.eventLoop.scheduleTask(deadline: lapsesAt) { bound.value.connectLapsed() }
            return handler.ready.always { _ in last.cancel() }
        } catch {
            return channel.eventLoop.makeFailedFuture(
                HTTP2ConnectError(code: .closed, reason: "closed before the first SETTINGS"))
        }
    }
}

/// Bounds how many connections many pools open together.
package protocol ConnectionPermits: Sendable {
    /// Whether one more may be opened.
    func take() -> Bool
    /// A connection that a permit was taken for is gone, or never came about.
    func giveBack()
}

/// Events of a connection between answers, for its owner.
public enum HTTP2Event: Sendable, Hashable {
    /// The server's stream limit is this now, or will be once authentication is proven.
    case streamLimit(Int)
    /// An answer proved that the connection works.
    case proven
    /// No further request will be written; those on their way may still be answered.
    case draining(HTTP2Ending)
    /// The connection is gone; every request has its answer.
    case closed(HTTP2Ending)
}

/// Why a connection ended.
public enum HTTP2Ending: Sendable, Hashable {
    /// We closed it.
    case closed
    /// The server sent GOAWAY, with its error code and debug data (APNs: JSON with a reason).
    case goAway(errorCode: UInt32, debugData: [UInt8])
    /// Too many server errors in a row.
    case sick
    /// The judge of the configuration retired it.
    case retired
    /// The judge retired it and all others.
    case allDeleted
    /// A ping was not answered.
    case pingUnanswered
    /// The server broke the protocol.
    case protocolBroken
    /// The server or the network closed it; `reason` is human-readable.
    case lost(reason: String)
    /// TLS failed because of a certificate; `reason` is human-readable.
    case tlsRefused(reason: String)

    /// The fault for requests that it left unanswered.
    var fault: HTTP2Fault {
        switch self {
        case .closed, .sick, .retired, .allDeleted: HTTP2Fault(.closing)
        case .goAway(let errorCode, _): HTTP2Fault(.goAway, errorCode: errorCode)
        case .pingUnanswered: HTTP2Fault(.pingUnanswered)
        case .protocolBroken: HTTP2Fault(.protocolBroken)
        case .lost: HTTP2Fault(.connectionLost)
        case .tlsRefused: HTTP2Fault(.tlsRefused)
        }
    }
}

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
