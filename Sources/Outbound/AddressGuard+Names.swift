import FoundationEssentials
import NIOCore

extension AddressGuard {
    /// Checks a URL by its host alone, for routes where a proxy connects and the address is never seen here.
    ///
    /// Refuses addresses that are not public however they are written, and names that have a meaning only in a local
    /// network. A public name may still resolve to a private address: only the proxy can see that, and must refuse it.
    public func permits(url: String) -> Bool {
        guard let host = URL(string: url)?.host else { return false }
        return permits(host: host)
    }

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
    private static let localEndings: Set = [
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
