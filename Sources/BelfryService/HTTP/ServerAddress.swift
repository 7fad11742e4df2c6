import HTTPTypes
package import Hummingbird
import NIOCore

/// The address under which browsers and devices reach this server, for links that it makes and origins that it takes for its own.
///
/// Where no public URL is set, the `Host` of a request is believed only where that is safe: for names of this machine, the address that the
/// connection came to, and names that the operator listed. Any other `Host` may be an attacker's.
package struct ServerAddress: Sendable {
    /// The public URL without a slash at its end; nil where it is not set.
    package var publicURL: String?
    /// The path of the public URL.
    package var path: PublicPath { PublicPath(of: publicURL) }
    /// `http.hosts`: names without port, in lower case.
    package var hosts: Set<String>
    /// Whether the listener speaks TLS.
    package var isSecure: Bool

    package init(publicURL: String? = nil, hosts: Set<String> = [], isSecure: Bool = false) {
        self.publicURL = publicURL
        self.hosts = hosts
        self.isSecure = isSecure
    }

    /// The address of the server without a slash at its end; nil where neither the settings nor a `Host` that can be believed say it.
    ///
    /// - Parameter cameByTLS: whether the client speaks TLS to a proxy before the server.
    package func known(_ request: Request, _ context: APIContext, cameByTLS: Bool = false) -> String? {
        if let publicURL { return publicURL }
        guard let authority = request.head.authority, isBelievable(authority, context) else { return nil }
        return "\(isSecure || cameByTLS ? "https" : "http")://\(authority)"
    }

    /// The address as in `known`, or else the one that the connection came to.
    package func url(_ request: Request, _ context: APIContext, cameByTLS: Bool = false) -> String {
        known(request, context, cameByTLS: cameByTLS) ?? "\(isSecure ? "https" : "http")://\(local(context))"
    }

    /// Whether pages of this origin are the server's own.
    package func isOwn(origin: String, _ request: Request, _ context: APIContext) -> Bool {
        if let publicURL, Self.origin(of: publicURL) == origin { return true }
        guard let authority = request.head.authority, isBelievable(authority, context) else { return false }
        return origin == "https://\(authority)" || origin == "http://\(authority)"
    }

    /// Scheme, host and port of a URL.
    package static func origin(of url: String) -> String {
        url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
    }

    /// Whether `Host` names this server: any name does where no public URL is set, and on a socket of this machine.
    func serves(_ authority: String?, at local: SocketAddress?) -> Bool {
        guard publicURL != nil else { return true }
        if case .unixDomainSocket = local { return true }
        return authority.map { isBelievable($0, local) } ?? false
    }

    /// The reason for refusing a `Host` that does not name this server.
    func refusal(of authority: String) -> String {
        let host = publicURL.map(Self.authority) ?? ""
        return
            "The request's Host is '\(authority.prefix(100))', and the dashboard and the admin API are reached as '\(host)'. "
            + "An operator lists other names of this server in http.hosts"
    }

    private func isBelievable(_ authority: String, _ context: APIContext) -> Bool {
        isBelievable(authority, context.local)
    }

    private func isBelievable(_ authority: String, _ local: SocketAddress?) -> Bool {
        guard let name = Self.name(in: authority) else { return false }
        if name == "localhost" || name.hasSuffix(".localhost") || hosts.contains(name) { return true }
        if let publicURL, Self.name(in: Self.authority(of: publicURL)) == name { return true }
        guard let address = NetworkAddress(name) else { return false }
        return address.isLoopback || address == local.flatMap(NetworkAddress.init)
    }

    private func local(_ context: APIContext) -> String {
        guard let socket = context.local, let address = NetworkAddress(socket), let text = address.text else {
            return "localhost"
        }
        return (address.isV4 ? text : "[\(text)]") + (socket.port.map { ":\($0)" } ?? "")
    }

    private static func authority(of url: String) -> String {
        String(url.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).first ?? "")
    }

    /// The host in `host`, `host:port` or `[address]:port`, in lower case and without a dot at its end; nil for anything else, such as
    /// `localhost:80@evil.example`, which begins a link to another host. Source: RFC 9110 §7.2, RFC 3986 §3.2.
    package static func name(in authority: String) -> String? {
        let isBracketed = authority.first == "["
        let name = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        let rest = authority[name.endIndex...].drop { isBracketed && $0 == "]" }
        guard rest.isEmpty || rest.first == ":", rest.dropFirst().allSatisfy({ "0"..."9" ~= $0 }) else { return nil }
        let isSpelled = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            case UInt8(ascii: ":"): isBracketed
            default: false
            }
        }
        guard isSpelled, !name.isEmpty else { return nil }
        return (name.last == "." ? name.dropLast() : name).lowercased()
    }
}

/// Refuses requests to the dashboard and the admin API that name a host which is not this server's, where its public URL is set.
///
/// A name that an attacker's DNS leads here makes a browser take the server's pages for the attacker's own. The APIs of devices and
/// senders take any host: their clients come by every name that the server ever had, and no browser sends their credentials by itself.
package struct HostGuard: RouterMiddleware {
    private let address: ServerAddress
    private let limiter: RequestLimiter

    /// - Parameter limiter: knows the trusted proxies, which may rewrite the host and forward the original one.
    package init(_ address: ServerAddress, _ limiter: RequestLimiter) {
        (self.address, self.limiter) = (address, limiter)
    }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard Self.isGuarded(context.endpointPath ?? ""), !address.serves(request.head.authority, at: context.local),
            !(limiter.forwarded(.host, of: request, context).map { address.serves($0, at: context.local) } ?? false)
        else { return try await next(request, context) }
        throw APIError(.misdirectedRequest, address.refusal(of: request.head.authority ?? ""))
    }

    /// Whether a route is guarded. Takes the route that was found, so that no spelling of a path gets past.
    private static func isGuarded(_ route: String) -> Bool {
        let first = route.split(separator: "/", maxSplits: 1).first
        return first == "dashboard" || first == "admin"
    }
}
