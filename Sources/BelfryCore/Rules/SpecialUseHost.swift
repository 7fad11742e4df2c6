/// Host names that lead nowhere, whatever a name server says.
///
/// Browsers put them in the place of an endpoint that is gone: Chrome's is `https://permanently-removed.invalid/`.
package enum SpecialUseHost {
    /// Names that are never given out. Source: RFC 6761 (`example`, `invalid`), RFC 7686, RFC 9476. Those of local networks are none
    /// of them: an operator may let such a network be posted to.
    private static let endings: Set = ["invalid", "example", "onion", "alt"]

    /// Whether no connection can ever be made to a host.
    package static func leadsNowhere(_ host: some StringProtocol) -> Bool {
        let bare = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard let ending = bare.split(separator: ".", omittingEmptySubsequences: false).last else { return false }
        return endings.contains(ending.lowercased())
    }
}
