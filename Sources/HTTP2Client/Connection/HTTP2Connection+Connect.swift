public import NIOCore
import NIOPosix
import NIOSSL
import Tunnel

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
            connect(to: endpoint, through: configuration.tunnel, within: amount, on: eventLoop) { channel in
                let handler = try HTTP2Handler(
                    configuration: configuration, eventLoop: channel.eventLoop, report: onEvent, publish: gauge.set)
                try channel.pipeline.syncOperations.addHandlers([makeTLS(tls, endpoint), handler])
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

    private static func connect(
        to endpoint: HTTP2Endpoint, through tunnel: Tunnel?, within amount: TimeAmount, on eventLoop: any EventLoop,
        initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .channelOption(.writeBufferWaterMark, value: .init(low: 64 * 1_024, high: 256 * 1_024))
        if let tunnel {
            // The rest of the time is for TLS and SETTINGS, so that a timeout names the right cause.
            let deadline = NIODeadline.now() + .nanoseconds(amount.nanoseconds / 5 * 4)
            return tunnel.open(
                to: endpoint.host, port: endpoint.port, by: deadline, with: bootstrap, initializer: initializer)
        }
        return
            bootstrap
            .connectTimeout(amount)
            .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { try initializer(channel) } }
            .connect(host: endpoint.host, port: endpoint.port)
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

    private static func makeTLS(_ tls: NIOSSLContext, _ endpoint: HTTP2Endpoint) throws -> NIOSSLClientHandler {
        let name = endpoint.serverName ?? endpoint.host
        // An address cannot be sent as SNI; NIOSSL then verifies the certificate against the peer's address.
        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : name)
    }
}
