extension String {
    /// The text in the form for an error or a log: without user, password and query of a URL, without control characters, and
    /// with 200 characters at most.
    ///
    /// A password may hold any character, so everything before the last `@` is removed, and so is a port that is not a number. Text
    /// that is no URL also loses everything before an `@`: the scheme may be missing.
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
    /// Whether the text behind the colon of a host, which is no IPv6 address, has other characters than digits: it is a password
    /// then, and the host is missing.
    fileprivate var holdsNoPort: Bool {
        let authority = prefix { !"/?#".contains($0) }
        guard !authority.hasPrefix("["), let colon = authority.firstIndex(of: ":") else { return false }
        return authority[authority.index(after: colon)...].contains { !$0.isASCII || !$0.isNumber }
    }
}
