extension String {
    /// The text as an error or a log may quote it: without user, password and query of a URL, without control characters, and of
    /// 200 characters at most.
    ///
    /// A password may hold any character, so everything before the last `@` goes, and what stands where a port does and is none. Text
    /// that is no URL loses what stands before an `@` too: somebody may have left the scheme out.
    package var quotable: String {
        var scheme = ""
        var rest = self[...]
        if let mark = firstRange(of: "://") {
            scheme = String(self[..<mark.upperBound])
            rest = self[mark.upperBound...]
        }
        if let at = rest.lastIndex(of: "@") {
            rest = "…" + rest[at...]
        } else if !scheme.isEmpty, rest.holdsNoPort {
            rest = "…"
        }
        if !scheme.isEmpty, let query = rest.firstIndex(of: "?") { rest = rest[..<query] + "?…" }
        let shown = (scheme + rest).withoutControls()
        return shown.count > Self.quotableMax ? shown.prefix(Self.quotableMax) + "…" : shown
    }

    private static let quotableMax = 200
}

extension Substring {
    /// Whether something else than digits stands behind the colon of a host that is no IPv6 address: a password, where the host is
    /// missing.
    fileprivate var holdsNoPort: Bool {
        let authority = prefix { !"/?#".contains($0) }
        guard !authority.hasPrefix("["), let colon = authority.firstIndex(of: ":") else { return false }
        return authority[authority.index(after: colon)...].contains { !$0.isASCII || !$0.isNumber }
    }
}
