/// Detects a password in the URL of a PostgreSQL. Every user of the machine can read the arguments of a process.
package enum DatabasePassword {
    /// Advice on where a password belongs, for an operator whose command was refused.
    package static let advice =
        "holds a password, which every user of this machine can read in the arguments of a process: put the whole URL into "
        + "BELFRY_DATABASE_URL, or leave the password out and put it into ~/.pgpass or the file that PGPASSFILE names"

    /// Source: PostgreSQL manual, "Connection URIs": `postgresql://user:password@host/name?password=…`.
    package static func stands(in url: String) -> Bool {
        guard let scheme = url.firstRange(of: "://") else { return false }
        let rest = url[scheme.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":"),
            authority.index(after: colon) < at
        {
            return true
        }
        guard let mark = rest.firstIndex(of: "?") else { return false }
        return rest[rest.index(after: mark)...].split(separator: "&").contains { item in
            let parts = item.split(separator: "=", maxSplits: 1)
            return parts.count == 2 && ["password", "sslpassword"].contains(parts[0].lowercased())
        }
    }
}
