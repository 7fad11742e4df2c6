public import NIOCore
public import NIOPosix

/// A route through a proxy, to any host.
public struct Tunnel: Sendable {
    public let proxy: Proxy
    /// Finds the addresses of the proxy; nil asks the system, on a thread that waits.
    public var lookUp: HostLookup?
    /// Called for each connection that failed, on an event loop.
    public var onFailure: @Sendable (TunnelError) -> Void

    public init(
        through proxy: Proxy, lookUp: HostLookup? = nil,
        onFailure: @escaping @Sendable (TunnelError) -> Void = { _ in }
    ) {
        self.proxy = proxy
        self.lookUp = lookUp
        self.onFailure = onFailure
    }

    /// Connects to the proxy and makes it connect to a host, whose name the proxy resolves.
    ///
    /// Must be called on the event loop: elsewhere the connection could open and close before it is watched.
    ///
    /// - Parameters:
    ///   - eventLoop: that of the bootstrap.
    ///   - bootstrap: with its channel options; its initializer and time-out are set here.
    ///   - initializer: adds handlers to the pipeline. To them the channel becomes active when the tunnel is open.
    /// - Returns: the channel when the tunnel is open. Fails with a ``TunnelError`` by `deadline`.
    public func open(
        to host: String, port: Int, by deadline: NIODeadline, with bootstrap: ClientBootstrap,
        on eventLoop: any EventLoop,
        initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let target = Target(host: host, port: port)
        return
            bootstrap
            .resolving(proxy.host, by: lookUp, on: eventLoop)
            .connectTimeout(max(.nanoseconds(1), deadline - .now()))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = TunnelHandler(
                        handshake(with: target), lapsesAt: deadline, eventLoop: channel.eventLoop)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    try initializer(channel)
                }
            }
            .connect(host: proxy.host, port: proxy.port)
            .flatMapErrorThrowing { error in
                throw TunnelError(.unreachable, "it cannot be reached: \(Self.words(error))")
            }
            .flatMap { channel in Self.untilOpen(channel).map { channel } }
            .flatMapErrorThrowing { error in throw named(error) }
    }

    private func handshake(with target: Target) -> any Handshake {
        switch proxy.kind {
        case .http: ConnectHandshake(target: target, login: proxy.login)
        case .socks5: SOCKS5Handshake(target: target, login: proxy.login)
        }
    }

    private static func untilOpen(_ channel: any Channel) -> EventLoopFuture<Void> {
        do {
            return try channel.pipeline.syncOperations.handler(type: TunnelHandler.self).opened
        } catch {
            return channel.eventLoop.makeFailedFuture(TunnelError(.garbled, "it closed the connection"))
        }
    }

    /// The error with the proxy's name before it; the observer is called.
    private func named(_ error: any Error) -> TunnelError {
        let own = error as? TunnelError ?? TunnelError(.garbled, "\(error)")
        let error = TunnelError(own.code, "the proxy \(proxy): \(own.reason)")
        onFailure(error)
        return error
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { words($0.error) } ?? "its name has no address"
        case ChannelError.connectTimeout: "no connection in time"
        default: "\(error)"
        }
    }
}
