import HTTPTypes
package import Hummingbird
package import NIOCore

extension NetworkAddress {
    /// nil unless it is an IP address; a Unix socket has none.
    ///
    /// Source: ip(7) and ipv6(7): `sin_addr` is at byte 4 of its structure, `sin6_addr` at byte 8 of its own.
    package init?(_ socket: SocketAddress) {
        switch socket {
        case .v4(let address):
            self = withUnsafeBytes(of: address.address) { bytes in
                NetworkAddress(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            }
        case .v6(let address):
            self = withUnsafeBytes(of: address.address) { bytes in
                NetworkAddress(
                    high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                    low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
            }
        case .unixDomainSocket: return nil
        }
    }

    /// The usual text form.
    package var text: String? {
        var packed = ByteBuffer()
        if isV4 {
            packed.writeInteger(UInt32(truncatingIfNeeded: low))
        } else {
            packed.writeInteger(high)
            packed.writeInteger(low)
        }
        return (try? SocketAddress(packedIPAddress: packed, port: 0))?.ipAddress
    }
}

/// Headers in which proxies pass on the scheme and the host of a request.
package enum ForwardedWord: String, Sendable {
    case scheme = "X-Forwarded-Proto"
    case host = "X-Forwarded-Host"

    var name: HTTPField.Name? { HTTPField.Name(rawValue) }
}

/// Reverse proxies whose `X-Forwarded-…` headers are trusted.
package struct TrustedProxies: Sendable {
    private let blocks: [NetworkBlock]

    package init(_ blocks: [NetworkBlock] = []) { self.blocks = blocks }

    package func contains(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The client address: the peer, or behind trusted proxies the last hop that is not one. Hops further left were
    /// written by the client and may be false.
    func caller(from peer: NetworkAddress, _ headers: HTTPFields) -> NetworkAddress {
        guard !blocks.isEmpty, contains(peer) else { return peer }
        var caller = peer
        let hops = headers[values: .xForwardedFor].joined(separator: ",").split(separator: ",")
        for hop in hops.reversed() {
            guard let address = NetworkAddress(hop: hop) else { return caller }
            caller = address
            if !contains(address) { return caller }
        }
        return caller
    }
}

extension NetworkAddress {
    /// An address in the form that proxies write, with spaces around it and sometimes a port: `192.0.2.1:443`,
    /// `[2001:db8::1]:443`.
    fileprivate init?(hop: Substring) {
        let text = hop.trimmingSpaces
        if text.first == "[" {
            self.init(String(text.dropFirst().prefix { $0 != "]" }))
        } else if text.count(where: { $0 == ":" }) == 1 {
            self.init(String(text.prefix { $0 != ":" }))
        } else {
            self.init(String(text))
        }
    }
}

/// The context of a request. The caller is not in it: `Authenticator` returns that as a value, so that no handler can
/// forget to ask.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The other end of the connection: the caller, or a proxy before it (`RequestLimiter.address`); nil where there is
    /// none, as in tests.
    let peer: SocketAddress?
    /// The end of the connection that is this server; nil where there is none, as in tests.
    let local: SocketAddress?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress
        local = source.channel.localAddress
    }
}
