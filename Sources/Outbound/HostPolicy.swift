public import DNS
import HTTP2Client
public import NIOCore

/// Resolves the hosts that third parties name and checks all their addresses before connecting, so that no caller
/// learns from a refusal, or from its timing, whether a port behind it is open.
///
/// Connections are made to the addresses that were judged: a name that resolves differently a moment later is judged again
/// (``lookUp(_:on:)``).
public final class HostPolicy: Sendable {
    public enum Verdict: Sendable, Hashable {
        case permitted
        /// At least one of its addresses must not be connected to.
        case refused
        case unresolved(NameFault)
    }

    private let addresses: AddressGuard
    private let names: NameResolver

    public init(_ addresses: AddressGuard, names: NameResolver) {
        self.addresses = addresses
        self.names = names
    }

    public func verdict(on url: String) async -> Verdict {
        guard let (origin, _) = PostOrigin.split(url) else { return .unresolved(.unknown) }
        return await verdict(onHost: origin.host)
    }

    /// - Parameter host: in lowercase; an IPv6 address without brackets.
    func verdict(onHost host: String) async -> Verdict {
        if let spelled = Self.spelledAddress(host) { return addresses.permits(spelled) ? .permitted : .refused }
        // Names of local networks are asked for where one of those is allowed.
        if addresses.allowed.isEmpty, !addresses.permits(host: host) { return .refused }
        return switch await names.addresses(of: host) {
        case .success(let found): found.allSatisfy(addresses.permits) ? .permitted : .refused
        case .failure(let fault): .unresolved(fault)
        }
    }

    /// The addresses of a host for a connection that is opened now; fails where one of them must not be connected to.
    ///
    /// What a verdict was reached on is known for as long as answers are kept. A connection is opened for all that go to a host, so it
    /// counts for the host: hosts that stall delay no other.
    public func lookUp(_ host: String, on eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        let found =
            Self.spelledAddress(host).map { eventLoop.makeSucceededFuture([$0]) }
            ?? names.lookUp(host, for: NameCaller(.delivery, application: Int64(host.hashValue)), on: eventLoop)
        return found.flatMapThrowing { [addresses] found in
            guard found.allSatisfy(addresses.permits) else {
                throw HTTP2ConnectError(code: .addressRefused, reason: "the address is not public")
            }
            return found
        }
    }

    /// An address in one of the spellings that only IPv4 has, such as `127.1`, `0x7f.0.0.1` and `2130706433`: no name server is
    /// asked for those. Source: POSIX, `inet_addr`.
    private static func spelledAddress(_ host: String) -> SocketAddress? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map(number)
        guard 1...4 ~= parts.count, let last = parts.last ?? nil, parts.allSatisfy({ $0 != nil }) else { return nil }
        let first = parts.dropLast().compactMap(\.self)
        guard first.allSatisfy({ $0 <= 0xFF }), last < 1 << (8 * (4 - first.count)) else { return nil }
        let value = first.enumerated().reduce(last) { $0 | $1.element << (8 * (3 - $1.offset)) }
        let text = (0..<4).map { "\(value >> (8 * (3 - $0)) & 0xFF)" }.joined(separator: ".")
        return try? SocketAddress(ipAddress: text, port: 0)
    }

    /// Decimal, octal behind a 0, or hexadecimal behind 0x.
    private static func number(_ text: Substring) -> Int? {
        guard let first = text.utf8.first, 0x30...0x39 ~= first, text.utf8.count <= 12 else { return nil }
        if text.hasPrefix("0x") || text.hasPrefix("0X") { return Int(text.dropFirst(2), radix: 16) }
        return Int(text, radix: first == 0x30 ? 8 : 10)
    }
}
