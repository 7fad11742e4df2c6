import NIOCore

/// The scheme, host and port that a request goes to, as one connection serves them. Source: RFC 6454 §4.
public struct PostOrigin: Sendable, Hashable {
    public let isSecure: Bool
    /// The host in lowercase; an IPv6 address is without its brackets.
    public let host: String
    public let port: Int

    /// `https://host`, with the port where it is not the scheme's own.
    public var text: String { "\(isSecure ? "https" : "http")://\(authority)" }

    /// The value of `Host` and `:authority`.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Splits a URL into its origin and the target of a request.
    ///
    /// nil for anything but `https` and `http` in visible ASCII, for a user part, for a backslash, which others read as a slash,
    /// and for a port that is none. Source: RFC 3986 §3; WHATWG URL, "special schemes".
    static func split(_ url: String) -> (origin: PostOrigin, target: Substring)? {
        let bytes = url.utf8
        guard bytes.allSatisfy({ 0x21...0x7E ~= $0 }), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            url[colon...].hasPrefix("://")
        else { return nil }
        let scheme = url[..<colon].lowercased()
        guard scheme == "https" || scheme == "http" else { return nil }
        let rest = url[bytes.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex(where: endsAuthority) ?? rest.endIndex
        guard let origin = PostOrigin(authority: rest[..<end], isSecure: scheme == "https") else { return nil }
        return (origin, target(rest[end...]))
    }

    /// The part of a URL behind its authority, without a fragment.
    static func target(_ rest: Substring) -> Substring {
        rest[..<(rest.utf8.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex)]
    }

    static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private init?(authority: Substring, isSecure: Bool) {
        guard !authority.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "\\") }) else {
            return nil
        }
        var name = authority
        var port = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            let digits = authority[authority.index(after: colon)...]
            name = authority[..<colon]
            guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            if !digits.isEmpty {
                guard let number = Int(digits), 1...65_535 ~= number else { return nil }
                port = number
            }
        }
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        let host = isBracketed ? name.dropFirst().dropLast() : name
        guard !host.isEmpty, host.utf8.count <= 255, host.contains(":") == isBracketed else { return nil }
        self.isSecure = isSecure
        self.host = host.lowercased()
        self.port = port
    }
}
