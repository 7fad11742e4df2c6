public import AsyncHTTPClient
import NIOCore

extension AddressGuard {
    /// Checks each connection of a client once its address is known, before a request is written to it.
    ///
    /// It checks the peer of the open connection, so a name that resolves differently each time gains nothing. Not for
    /// a client with a proxy: there the peer is the proxy, and the proxy has to check.
    public func stand(before configuration: inout HTTPClient.Configuration) {
        guard configuration.proxy == nil else { return }
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = admit
        configuration.http2ConnectionDebugInitializer = admit
    }

    @Sendable private func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        if let peer = channel.remoteAddress, permits(peer) { return channel.eventLoop.makeSucceededVoidFuture() }
        // Closed before the failure is reported: the client drops a connection that failed to open.
        return channel.close().flatMap { channel.eventLoop.makeFailedFuture(AddressRefused()) }
    }
}

/// The name resolved to a forbidden address.
public struct AddressRefused: Error, Sendable, Hashable {
    public init() {}
}
