import FoundationEssentials
public import NIOCore

extension AddressGuard {
    /// Checks a URL by its host alone, for routes where a proxy connects and the address is never seen here.
    ///
    /// Refuses addresses that are not public however they are written, and names that have a meaning only in a local
    /// network. A public name may still resolve to a private address: only the proxy can see that, and must refuse it.
    public func permits(url: String) -> Bool { URL(string: url)?.host.map { permits(host: $0) } ?? false }

    func permits(host: String) -> Bool {
        let host = host.lowercased()
        if let address = Self.address(host) { return permits(address) }
        let labels = (host.hasSuffix(".") ? host.dropLast() : host[...])
            .split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy(Self.isLabel), let last = labels.last, !Self.isNumber(last) else { return false }
        if last == "localhost" { return ["127.0.0.1", "::1"].compactMap(Self.address).allSatisfy { permits($0) } }
        return labels.count > 1 && !Self.localEndings.contains(String(last)) && labels.suffix(2) != ["home", "arpa"]
    }

    /// Source: RFC 6761; RFC 6762 (`local`, and appendix G for what is used without having been given out); RFC 7686; ICANN
    /// board resolution 2024.07.29.06 (`internal`).
    package static let localEndings: Set = [
        "local", "internal", "intranet", "private", "corp", "home", "lan", "localdomain", "test", "invalid", "onion",
    ]

    private static func address(_ host: String) -> SocketAddress? {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return try? SocketAddress(ipAddress: bare, port: 0)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        1...63 ~= label.utf8.count
            && label.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2D || $0 == 0x5F }
    }

    /// Whether resolvers treat a name with this ending as an IPv4 address, as in `127.1`, `0x7f.0.0.1` and
    /// `2130706433`. Source: WHATWG URL, "ends in a number checker".
    private static func isNumber(_ label: Substring) -> Bool {
        label.utf8.allSatisfy { 0x30...0x39 ~= $0 }
            || label.hasPrefix("0x") && label.dropFirst(2).allSatisfy(\.isHexDigit)
    }
}

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

    public func permits(_ address: SocketAddress) -> Bool { address.ipBytes.map { permits($0) } ?? false }

    private func permits(_ bytes: [UInt8]) -> Bool {
        if allowed.contains(where: { $0.contains(bytes) }) { return true }
        guard bytes.count == 16 else { return !Self.closedIPv4.contains { $0.contains(bytes) } }
        if Self.embedding.contains(where: { $0.contains(bytes) }) { return permits(Array(bytes[12...])) }
        let isGlobal = Self.globalIPv6?.contains(bytes) ?? false
        return isGlobal && !Self.closedIPv6.contains { $0.contains(bytes) }
    }
}

/// A range of network addresses, such as `10.0.0.0/8` or `::1`.
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
    /// 4 bytes or 16.
    let bytes: [UInt8]
    let prefixBits: Int
    public let description: String

    /// nil when the text is neither an address nor an address with the length of its prefix.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0), let bytes = address.ipBytes
        else { return nil }
        let bitsMax = bytes.count * 8
        guard let bits = parts.count == 1 ? bitsMax : Int(parts[1]), 0...bitsMax ~= bits else { return nil }
        self.bytes = bytes
        prefixBits = bits
        description = text
    }

    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == bytes.count else { return false }
        return bytes.indices.allSatisfy { index in
            let bits = min(max(prefixBits - index * 8, 0), 8)
            let mask = bits == 0 ? 0 : UInt8.max << UInt8(8 - bits)
            return bytes[index] & mask == address[index] & mask
        }
    }
}

extension SocketAddress {
    /// The address in network order, from `sin_addr` and `sin6_addr`; nil for a socket that is a file.
    var ipBytes: [UInt8]? {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }
}
