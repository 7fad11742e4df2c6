import Glibc

/// An IP address. IPv4 addresses are held as mapped IPv6 addresses: `::ffff:a.b.c.d`.
package struct NetworkAddress: Sendable, Hashable {
    package let high: UInt64
    package let low: UInt64

    private static let mapped: UInt64 = 0xFFFF_0000_0000

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(v4 bits: UInt32) { self.init(high: 0, low: Self.mapped | UInt64(bits)) }

    /// 127.0.0.0/8 or ::1. Source: RFC 6890 §2.2.2.
    package var isLoopback: Bool { isV4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    package var isV4: Bool { high == 0 && low & ~0xFFFF_FFFF == Self.mapped }

    /// The address that limits apply to: an IPv4 address, or the /64 network of an IPv6 address, within which a host
    /// may take as many addresses as it likes. Source: RFC 6177 §2, RFC 8981.
    package var site: NetworkAddress { isV4 ? self : NetworkAddress(high: high, low: 0) }
}

/// The addresses that share their first bits, such as `10.0.0.0/8`.
package struct NetworkBlock: Sendable, Hashable {
    private let first: NetworkAddress
    /// The number of shared bits, of 128.
    private let bits: Int

    /// - Parameter prefix: the number of shared bits, of 32 or of 128 as the address has; nil when out of range.
    package init?(_ address: NetworkAddress, prefix: Int? = nil) {
        let width = address.isV4 ? 32 : 128
        let prefix = prefix ?? width
        guard 0...width ~= prefix else { return nil }
        bits = 128 - width + prefix
        first = address.keeping(bits)
    }

    package func contains(_ address: NetworkAddress) -> Bool { address.keeping(bits) == first }

    package func overlaps(_ other: NetworkBlock) -> Bool { contains(other.first) || other.contains(first) }
}

extension NetworkAddress {
    fileprivate func keeping(_ bits: Int) -> NetworkAddress {
        // A shift by 64 gives zero, as intended.
        NetworkAddress(high: high & UInt64.max << max(0, 64 - bits), low: low & UInt64.max << min(64, 128 - bits))
    }
}

// MARK: As text

extension NetworkAddress {
    /// Reads `192.0.2.1` or `2001:db8::1`; nil for anything else.
    package init?(_ text: String) {
        // Integers take the bytes: which module owns `in_addr` differs between debug and release builds.
        var v4: UInt32 = 0
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4))
            return
        }
        var v6: [UInt64] = [0, 0]
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(high: UInt64(bigEndian: v6[0]), low: UInt64(bigEndian: v6[1]))
    }
}

extension NetworkBlock {
    /// Reads `10.0.0.0/8`, or one address.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ NetworkAddress(String($0)) }) else { return nil }
        guard parts.count == 2 else {
            self.init(address)
            return
        }
        guard let prefix = Int(parts[1]) else { return nil }
        self.init(address, prefix: prefix)
    }
}

/// Recognizes host names that lead nowhere, whatever a name server says.
///
/// Browsers use them as the endpoint of a subscription that is gone: Chrome's is `https://permanently-removed.invalid/`.
package enum SpecialUseHost {
    /// Names that are never given out. Source: RFC 6761 (`example`, `invalid`), RFC 7686, RFC 9476. Names of local networks are not
    /// among them: an operator may let such a network be posted to.
    private static let endings: Set = ["invalid", "example", "onion", "alt"]

    /// Whether no connection can ever be made to a host.
    package static func leadsNowhere(_ host: some StringProtocol) -> Bool {
        let bare = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard let ending = bare.split(separator: ".", omittingEmptySubsequences: false).last else { return false }
        return endings.contains(ending.lowercased())
    }
}
