import CPostgreSQL

extension ConnectionOptions {
    /// The fault of a URL, in words that repeat none of it but the name of a parameter; nil for a sound one.
    ///
    /// libpq takes a `@`, `/` or `?` of a password for the end of it, and quotes what it then takes for a host or a port. Source:
    /// PostgreSQL manual, "Connection URIs".
    public static func fault(of url: String) -> String? {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { !"/?".contains($0) }
        let tail = rest[authority.endIndex...]
        let query = tail.firstIndex(of: "?").map { tail[tail.index(after: $0)...] } ?? ""
        let path = tail.prefix { $0 != "?" }
        guard authority.count(where: { $0 == "@" }) <= 1, !path.contains("@") else {
            return "has an @ where none belongs. \(encoding)"
        }
        let hosts = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard hosts.split(separator: ",").allSatisfy(hasPort) else {
            return "has a port that is no number. \(encoding)"
        }
        guard hasSoundPercents(rest) else { return "has a % that no two hex digits follow. \(encoding)" }
        return fault(ofQuery: query)
    }

    private static let encoding =
        "In user and password @ : / ? # % are written as %40 %3A %2F %3F %23 %25"

    /// Whether what stands behind the colon of a host is a number, or nothing.
    private static func hasPort(_ host: Substring) -> Bool {
        let name = host.hasPrefix("[") ? host.drop { $0 != "]" } : host
        guard let colon = name.firstIndex(of: ":") else { return true }
        return name[name.index(after: colon)...].utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    private static func hasSoundPercents(_ text: Substring) -> Bool {
        text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy {
            $0.utf8.count >= 2 && $0.prefix(2).allSatisfy(\.isHexDigit)
        }
    }

    private static func fault(ofQuery query: Substring) -> String? {
        let known = keywords
        for item in query.split(separator: "&") {
            let name = item.prefix { $0 != "=" }
            // libpq knows `ssl=true` as the drivers of Java write it.
            if known.contains(String(name)) || name == "ssl" { continue }
            let isName =
                name.utf8.count <= 40 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            guard isName, !query.contains("@") else { return "has a ? or & in a place where none belongs. \(encoding)" }
            return "has the parameter `\(name)`, which libpq does not know (PostgreSQL manual, \"Parameter Key Words\")"
        }
        return nil
    }

    /// The parameters of the libpq that this program runs with.
    private static var keywords: Set<String> {
        guard let options = PQconndefaults() else { return [] }
        defer { PQconninfoFree(options) }
        var names: Set<String> = []
        var next = options
        while let keyword = next.pointee.keyword {
            names.insert(String(cString: keyword))
            next += 1
        }
        return names
    }
}
