public import NIOCore

/// Decides which addresses may be connected to when a third party chose the name.
///
/// A device that registers a Web Push subscription names the host that we then connect to. Without this, that could be
/// a service of our own network. Only public addresses are allowed, and those that the operator allows.
public struct AddressGuard: Sendable, Hashable {
    /// Allowed although not public.
    public let allowed: [AddressBlock]

    public init(allowed: [AddressBlock] = []) { self.allowed = allowed }

    /// Addresses that are not public. Source: IANA, IPv4 Special-Purpose Address Registry (RFC 6890); RFC 6598
    /// (carriers' NAT).
    private static let closedIPv4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ].compactMap(AddressBlock.init)

    /// Within the global unicast range. Source: IANA, IPv6 Special-Purpose Address Registry; 6to4 and Teredo hide an IPv4
    /// address.
    private static let closedIPv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]
        .compactMap(AddressBlock.init)
    private static let globalIPv6 = AddressBlock("2000::/3")
    /// Ranges whose last four bytes are the actual IPv4 address: mapped (RFC 4291) and NAT64 (RFC 6052).
    private static let embedding = ["::ffff:0.0.0.0/96", "64:ff9b::/96"].compactMap(AddressBlock.init)

    public func permits(_ address: SocketAddress) -> Bool {
        guard let bytes = address.ipBytes else { return false }
        return permits(bytes)
    }

    private func permits(_ bytes: [UInt8]) -> Bool {
        if allowed.contains(where: { $0.contains(bytes) }) { return true }
        guard bytes.count == 16 else { return !Self.closedIPv4.contains { $0.contains(bytes) } }
        if Self.embedding.contains(where: { $0.contains(bytes) }) { return permits(Array(bytes[12...])) }
        let isGlobal = Self.globalIPv6?.contains(bytes) ?? false
        return isGlobal && !Self.closedIPv6.contains { $0.contains(bytes) }
    }
}
