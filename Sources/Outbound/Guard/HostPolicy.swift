import FoundationEssentials
public import NIOCore
import NIOPosix
import Synchronization

/// Resolves the hosts that third parties name and checks all their addresses before connecting, so that no caller
/// learns from a refusal, or from its timing, whether a port behind it is open.
///
/// A name may resolve differently a moment later: `AddressGuard.stand` checks the peer of each connection as well.
public final class HostPolicy: Sendable {
    /// The verdict on a host.
    public enum Verdict: Sendable, Hashable {
        case permitted
        /// At least one of its addresses must not be connected to.
        case refused
        case unresolved
    }

    private let addresses: AddressGuard
    private let resolve: @Sendable (String) async -> [SocketAddress]
    private let known = Mutex<[String: (verdict: Verdict, until: ContinuousClock.Instant)]>([:])

    /// How long a verdict is used, as long as pooled connections are.
    private static let lifetime = Duration.seconds(30)
    private static let knownMax = 4_096

    /// - Parameter resolve: all addresses of a host; none when it has none. nil asks the system.
    public init(_ addresses: AddressGuard, resolve: (@Sendable (String) async -> [SocketAddress])? = nil) {
        self.addresses = addresses
        self.resolve = resolve ?? Self.system
    }

    public func verdict(on url: String) async -> Verdict {
        guard let (origin, _) = PostOrigin.split(url) else { return .unresolved }
        return await verdict(onHost: origin.host)
    }

    /// - Parameter host: in lowercase; an IPv6 address without brackets.
    func verdict(onHost host: String) async -> Verdict {
        let now = ContinuousClock.now
        if let known = known.withLock({ $0[host] }), now < known.until { return known.verdict }
        let found = await resolve(host)
        let verdict: Verdict =
            found.isEmpty ? .unresolved : found.allSatisfy(addresses.permits) ? .permitted : .refused
        known.withLock { known in
            if known.count >= Self.knownMax { known.removeAll(keepingCapacity: true) }
            known[host] = (verdict, now + Self.lifetime)
        }
        return verdict
    }

    /// `getaddrinfo` waits, so it has threads of its own.
    private static let system: @Sendable (String) async -> [SocketAddress] = { host in
        if let address = try? SocketAddress(ipAddress: host, port: 0) { return [address] }
        return (try? await NIOThreadPool.singleton.runIfActive { lookUp(host) }) ?? []
    }

    private static func lookUp(_ host: String) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let entry = next {
            if let address = entry.pointee.address { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }
}

extension addrinfo {
    fileprivate var address: SocketAddress? {
        guard let start = ai_addr else { return nil }
        let bytes = UnsafeRawPointer(start)
        switch ai_family {
        case AF_INET: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
    }
}
