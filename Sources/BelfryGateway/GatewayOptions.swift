package import NIOCore
package import NIOSSL

/// The limits of the gateway.
package struct GatewayOptions: Sendable {
    /// Records of a connection that are not durable yet; then no more are read.
    package var window = 1_000
    /// The most bytes held for all connections together; those of one address may have a quarter of it. Requests of HTTP/2 count too.
    package var heldBytesMax = 64 << 20
    /// How long a record may take from its first byte to its last.
    package var recordTimeout = TimeAmount.seconds(30)
    /// How long a request of HTTP/2 may take until it is whole, and its answer until the sender has taken it.
    package var streamTimeout = TimeAmount.seconds(10)
    /// How long a sender may read nothing that it is answered.
    package var writeTimeout = TimeAmount.seconds(30)
    package var handshakeTimeout = TimeAmount.seconds(10)
    /// How long a connection may be silent.
    package var idleTimeout = TimeAmount.minutes(15)
    /// How long a connection stays open for a sender that reads after the last word.
    package var drain = TimeAmount.seconds(2)
    /// How long a connection stays open after a good record: Genero's provider takes an end within 2 s for a failure.
    package var silence = Duration.milliseconds(2_500)

    /// How long refusals of APNs are still sent after the last record of a sender that has closed its side.
    package var lateVerdicts = Duration.seconds(10)

    /// How long the answer to a request of HTTP/2 waits for what APNs says of the device; then it says that the push was taken.
    package var verdictWait = Duration.seconds(5)

    package init() {}
}

/// The address of a listener of the gateway, and the callers that it lets in.
package struct GatewayAddress: Sendable {
    package let host: String
    package let port: Int
    /// The context of new connections; it asks for client certificates.
    package let context: @Sendable () -> NIOSSLContext
    /// False when there are too many connections already.
    package let enter: @Sendable (SocketAddress?) -> Bool
    /// Called for each connection that was let in, when it is over.
    package let left: @Sendable (SocketAddress?) -> Void
    /// Called once, with the channel that listens.
    package let opened: @Sendable (any Channel) -> Void

    package init(
        host: String, port: Int, context: @escaping @Sendable () -> NIOSSLContext,
        enter: @escaping @Sendable (SocketAddress?) -> Bool, left: @escaping @Sendable (SocketAddress?) -> Void,
        opened: @escaping @Sendable (any Channel) -> Void
    ) {
        self.host = host
        self.port = port
        self.context = context
        self.enter = enter
        self.left = left
        self.opened = opened
    }
}
