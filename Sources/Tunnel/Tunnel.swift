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

/// Why a proxy opened no connection. Nothing was sent through it.
public struct TunnelError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The proxy itself cannot be reached.
        public static let unreachable = Code(number: 1)
        /// The proxy requires credentials, or others.
        public static let credentials = Code(number: 2)
        /// The proxy refuses to connect to the host, or cannot.
        public static let refused = Code(number: 3)
        /// The answer is not one of a proxy of its kind, or the proxy ended the connection.
        public static let garbled = Code(number: 4)
        /// The proxy took too long.
        public static let deadline = Code(number: 5)
    }

    public let code: Code
    /// A human-readable reason; contains no user and no password.
    public let reason: String

    public var description: String { reason }

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// Finds the addresses of a host, in the order in which to try them; fails where it has none that may be connected to.
public typealias HostLookup = @Sendable (_ host: String, _ eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]>

extension ClientBootstrap {
    /// Connects to the addresses that a look-up finds, and to no others.
    ///
    /// - Parameters:
    ///   - lookUp: nil lets the system look the host up.
    ///   - eventLoop: of the bootstrap.
    package func resolving(_ host: String, by lookUp: HostLookup?, on eventLoop: any EventLoop) -> ClientBootstrap {
        lookUp.map { resolver(FoundAddresses(found: $0(host, eventLoop))) } ?? self
    }
}

/// The addresses of one host, for one connection.
private struct FoundAddresses: Resolver, Sendable {
    let found: EventLoopFuture<[SocketAddress]>

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { addresses(.inet, port) }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { addresses(.inet6, port) }

    /// The look-up has a deadline of its own.
    func cancelQueries() {}

    private func addresses(_ family: NIOBSDSocket.ProtocolFamily, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
        found.map { found in
            found.compactMap { address in
                guard address.protocol == family else { return nil }
                var address = address
                address.port = port
                return address
            }
        }
    }
}
