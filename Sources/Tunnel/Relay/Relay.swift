public import NIOCore
import NIOPosix

/// A listener on the loopback for an HTTP client that supports only CONNECT proxies: connections through it go through
/// a ``Tunnel``.
///
/// The client then needs no support for kinds of proxies. Any failure before a tunnel is open is reported to it as a
/// status, so it knows that nothing was sent. The relay requires a password, which is drawn anew each time.
public final class Relay: Sendable {
    /// The address for the client.
    public let host = "127.0.0.1"
    public let port: Int
    public let user: String
    public let password: String
    private let channel: any Channel
    private let openConnections: RelayConnections

    private init(channel: any Channel, login: ProxyLogin, openConnections: RelayConnections) {
        self.channel = channel
        (user, password) = (login.user, login.password)
        self.openConnections = openConnections
        port = channel.localAddress?.port ?? 0
    }

    /// Listens on a free port.
    ///
    /// - Parameter deadline: how long a tunnel may take to open; less than the client waits for its proxy.
    public static func start(
        _ tunnel: Tunnel, deadline: Duration = .seconds(8), on group: any EventLoopGroup
    ) async throws -> Relay {
        var random = SystemRandomNumberGenerator()
        let login = ProxyLogin(
            user: "relay", password: (0..<2).map { _ in String(random.next(), radix: 36) }.joined())
        let openConnections = RelayConnections()
        let amount = TimeAmount(deadline)
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { child in
                openConnections.came(child)
                return child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(
                        RelayConnectHandler(tunnel, login: login, deadline: amount))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Relay(channel: channel, login: login, openConnections: openConnections)
    }

    /// Accepts no further connections, and closes the open ones.
    public func close() async {
        try? await channel.close()
        await openConnections.sendAway()
    }
}
