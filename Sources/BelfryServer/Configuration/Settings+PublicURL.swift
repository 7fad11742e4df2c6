import BelfryAPI
import BelfryDashboard
import BelfryService

extension Settings {
    /// `public.url`, or by its older name `dashboard.public.url`: where browsers and devices reach this server, with the path that a proxy
    /// serves it below, if any. nil where neither is set.
    func publicURL() -> String? {
        let (key, older) = ("public.url", "dashboard.public.url")
        let (url, olderURL) = (publicURL(key), publicURL(older))
        if let url, let olderURL, url != olderURL {
            note("\(key) and \(older) differ, and are one setting: keep \(key)")
        }
        return url ?? olderURL
    }

    /// A URL without a slash at its end. No route of this server may begin with its path, which could then not be told from a proxy's.
    func publicURL(_ key: String) -> String? {
        guard let given = optionalString(key), !given.isEmpty else { return nil }
        func wrong(_ problem: String) -> String? { fault(key, "is `\(given.quotable)`, it \(problem)", nil) }
        guard given.hasPrefix("https://") || given.hasPrefix("http://") else {
            return wrong("has to begin with https:// or http://")
        }
        let url = given.hasSuffix("/") ? String(given.dropLast()) : given
        let parts = url.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        guard let host = parts.first, !host.isEmpty, !host.utf8.contains(where: Self.isNoneOfAHost) else {
            return wrong("has to have a host, and no user, query or fragment")
        }
        let path = parts.dropFirst()
        guard path.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.allSatisfy(Self.isOfAPath) }) else {
            return wrong(
                "may have a path of letters, digits, '-', '.', '_' and '~' between single slashes, and nothing behind it"
            )
        }
        if let first = path.first, Self.ownPaths.contains(String(first)) {
            return wrong("may have no path that begins with /\(first): this server has pages of its own there")
        }
        return url
    }

    private static func isNoneOfAHost(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte >= 0x7F || "@?#\\".utf8.contains(byte)
    }

    /// Source: RFC 3986 §2.3, unreserved characters.
    private static func isOfAPath(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || (0x30...0x39 ~= byte) || "-._~".utf8.contains(byte)
    }

    /// The first parts of the paths that are served.
    static let ownPaths: Set = [
        "acrobits", "admin", "broker", "carma", "dashboard", "genero", "health", "healthcheck", "openapi.yaml", "pnm2",
        "rest",
        "sdk", "v1", "v2", "web",
    ]
}
