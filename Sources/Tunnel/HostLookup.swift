public import NIOCore
package import NIOPosix

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
