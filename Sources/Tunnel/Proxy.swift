/// A server that opens connections for us.
public struct Proxy: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Source: RFC 9110 §9.3.6, CONNECT.
        case http
        /// Source: RFC 1928.
        case socks5
    }

    public let kind: Kind
    /// A host name or an IP address; resolved anew for each connection.
    public let host: String
    public let port: Int
    public let login: ProxyLogin?

    /// Throws when the proxy could not be used with these.
    public init(_ kind: Kind, host: String, port: Int, login: ProxyLogin? = nil) throws(ProxyFault) {
        guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x40 }) else {
            throw ProxyFault("its host has to be a name or an address of visible ASCII")
        }
        guard 1...65_535 ~= port else { throw ProxyFault("its port has to be in 1...65535") }
        if let login { try login.check(for: kind) }
        self.kind = kind
        self.host = host
        self.port = port
        self.login = login
    }
}

extension Proxy: CustomStringConvertible {
    /// Its URL without user and password.
    public var description: String { "\(kind.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

/// The credentials for the proxy. Neither part is ever printed.
public struct ProxyLogin: Sendable, Hashable {
    let user: String
    let password: String

    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Source: RFC 1929 §2 for the lengths; RFC 7617 §2 for the colon and the control characters.
    func check(for kind: Proxy.Kind) throws(ProxyFault) {
        switch kind {
        case .socks5:
            guard 1...255 ~= user.utf8.count, 1...255 ~= password.utf8.count else {
                throw ProxyFault("its user and its password have to be 1 to 255 bytes each")
            }
        case .http:
            guard !user.isEmpty, !user.contains(":"), (user + password).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { throw ProxyFault("its user is required, without a colon, and no control characters") }
        }
    }
}

extension ProxyLogin: CustomStringConvertible, CustomReflectable {
    public var description: String { "(hidden)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a proxy cannot be used with these parameters; contains neither user nor password.
public struct ProxyFault: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
