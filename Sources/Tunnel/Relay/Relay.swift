public import NIOCore
import NIOPosix

/// A listener on the loopback for an HTTP client that can speak to a proxy by CONNECT and no more: what goes through it goes
/// through a ``Tunnel``.
///
/// The client then needs to know nothing of kinds of proxies. Whatever goes wrong before a tunnel is open it hears as a status,
/// so it knows that nothing was sent. Who does not know the relay's password, which is drawn anew each time, gets nothing.
public final class Relay: Sendable {
    /// Where the client finds it.
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

    /// Takes no connection any more, and closes those that are open.
    public func close() async {
        try? await channel.close()
        await openConnections.sendAway()
    }
}
