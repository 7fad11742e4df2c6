package import FoundationEssentials

/// The reason why a connection to a provider failed. Nothing was sent, and another attempt may succeed.
package struct ConnectionFault: Sendable, Hashable, CustomStringConvertible {
    /// A metric label, so the set is closed.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The name of the host has no address.
        case dns
        /// The connection was refused, or the host cannot be reached.
        case connect
        case timeout
        /// TLS failed, most often because a certificate is not trusted.
        case tls
        /// The connection ended before it could be used, or the peer speaks another protocol.
        case closed
        /// The proxy opened no connection.
        case proxy

        /// The beginning of such an attempt's line in the history of a device.
        var unreachable: String { "unreachable (\(rawValue))" }
    }

    package let kind: Kind
    /// A human-readable reason, which callers see too: it contains no secret, and no port of an address that is not
    /// public.
    package let detail: String

    package var description: String { detail }

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}

/// The last connection fault of a platform.
package struct PlatformFault: Sendable, Hashable {
    package let platform: UUID
    package let fault: ConnectionFault
    package let at: Instant

    package init(platform: UUID, fault: ConnectionFault, at: Instant) {
        self.platform = platform
        self.fault = fault
        self.at = at
    }
}
