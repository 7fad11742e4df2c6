extension Proxy {
    /// From `http://host:port`, `http://user:password@host:port`, or the same with `socks5`.
    ///
    /// Special characters in user and password are written as `%XX`. `socks5h` is accepted too: names are always
    /// resolved by the proxy.
    ///
    /// - Parameter password: in place of one in the URL.
    public init(url: String, password: String? = nil) throws(ProxyFault) {
        guard let mark = url.firstRange(of: "://"), let kind = Self.kind(url[..<mark.lowerBound]) else {
            throw ProxyFault("it has to begin with http:// or socks5://")
        }
        var rest = url[mark.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains(where: { "/?#".contains($0) }) else {
            throw ProxyFault("nothing may stand behind its port; write a / ? or # in its password as %2F %3F %23")
        }
        let at = rest.lastIndex(of: "@")
        let (host, port) = try Self.address(at.map { rest[rest.index(after: $0)...] } ?? rest)
        let login = try Self.login(at.map { rest[..<$0] }, password: password)
        try self.init(kind, host: host, port: port, login: login)
    }

    private static func kind(_ scheme: Substring) -> Kind? {
        let scheme = scheme.lowercased()
        return scheme == "socks5h" ? .socks5 : Kind(rawValue: scheme)
    }

    private static func address(_ text: Substring) throws(ProxyFault) -> (String, Int) {
        guard let colon = text.lastIndex(of: ":"), text.last != "]" else { throw ProxyFault("its port is missing") }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = Int(digits) else {
            throw ProxyFault("its port has to be in 1...65535")
        }
        let host = text[..<colon]
        guard host.hasPrefix("[") == host.hasSuffix("]"), host.hasPrefix("[") || !host.contains(":") else {
            throw ProxyFault("an IPv6 address is written in brackets")
        }
        return (String(host.hasPrefix("[") ? host.dropFirst().dropLast() : host), port)
    }

    private static func login(_ text: Substring?, password: String?) throws(ProxyFault) -> ProxyLogin? {
        guard let text else {
            guard password == nil else { throw ProxyFault("there is a password, and no user before an @") }
            return nil
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 1 || password == nil else { throw ProxyFault("its password is given twice") }
        guard let user = decoded(parts[0]), let own = decoded(parts.count == 2 ? parts[1] : "") else {
            throw ProxyFault("a % in its user or password has to be written as %25")
        }
        return ProxyLogin(user: user, password: password ?? own)
    }

    /// nil when a `%` is not followed by a byte, or the bytes are not text. Source: RFC 3986 §2.1.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                let value = UInt8(String(Substring(digits)), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A server that opens connections for us.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
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
