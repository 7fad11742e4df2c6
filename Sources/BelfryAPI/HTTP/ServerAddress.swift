import BelfryCore
package import Hummingbird

/// The address under which browsers and devices reach this server, for links that it makes and origins that it takes for its own.
///
/// Where no public URL is set, what a request calls the server is believed only where that harms nobody: names of this machine,
/// the address that the connection came to, and names that the operator listed. Any other `Host` may be an attacker's.
package struct ServerAddress: Sendable {
    /// Without a slash at its end; nil where it is not set.
    package var publicURL: String?
    /// `http.hosts`: names without port, in lower case.
    package var hosts: Set<String>
    /// Whether the listener speaks TLS.
    package var isSecure: Bool

    package init(publicURL: String? = nil, hosts: Set<String> = [], isSecure: Bool = false) {
        self.publicURL = publicURL
        self.hosts = hosts
        self.isSecure = isSecure
    }

    /// Without a slash at its end; nil where neither the settings nor a `Host` that can be believed say it.
    ///
    /// - Parameter cameByTLS: whether the client speaks TLS to a proxy before the server.
    package func known(_ request: Request, _ context: APIContext, cameByTLS: Bool = false) -> String? {
        if let publicURL { return publicURL }
        guard let authority = request.head.authority, isBelievable(authority, context) else { return nil }
        return "\(isSecure || cameByTLS ? "https" : "http")://\(authority)"
    }

    /// As `known`, or else the address that the connection came to.
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

    private func isBelievable(_ authority: String, _ context: APIContext) -> Bool {
        let name = Self.name(in: authority).lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") || hosts.contains(name) { return true }
        if let publicURL, Self.name(in: Self.authority(of: publicURL)).lowercased() == name { return true }
        guard let address = NetworkAddress(name) else { return false }
        return address.isLoopback || address == context.local.flatMap(NetworkAddress.init)
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

    /// The host in `host:port` or `[address]:port`.
    private static func name(in authority: String) -> String {
        if authority.first == "[" { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }
}
