/// Recognizes host names that lead nowhere, whatever a name server says.
///
/// Browsers use them as the endpoint of a subscription that is gone: Chrome's is `https://permanently-removed.invalid/`.
package enum SpecialUseHost {
    /// Names that are never given out. Source: RFC 6761 (`example`, `invalid`), RFC 7686, RFC 9476. Names of local networks are not
    /// among them: an operator may let such a network be posted to.
    private static let endings: Set = ["invalid", "example", "onion", "alt"]

    /// Whether no connection can ever be made to a host.
    package static func leadsNowhere(_ host: some StringProtocol) -> Bool {
        let bare = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard let ending = bare.split(separator: ".", omittingEmptySubsequences: false).last else { return false }
        return endings.contains(ending.lowercased())
    }
}
