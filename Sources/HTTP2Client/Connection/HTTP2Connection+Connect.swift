public import NIOCore
import NIOSSL

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
