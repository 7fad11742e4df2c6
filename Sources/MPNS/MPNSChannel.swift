/// The address of one phone, as the phone gave it to the app.
public struct MPNSChannel: Sendable, Hashable {
    public let uri: String

    /// The suffix of all channel hosts.
    public static let domain = ".notify.live.net"

    /// - Parameter domain: the required suffix of the host; another one is for simulators.
    public init(_ uri: String, domain: String = domain) throws(MPNSError) {
        let scheme = uri.hasPrefix("https://") ? "https://" : "http://"
        guard uri.hasPrefix(scheme), uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw MPNSError("channel has to be an http or https URI of visible ASCII")
        }
        let authority = uri.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        // A user part or a backslash would make the host ambiguous.
        guard !authority.contains(where: { "@\\".contains($0) }) else {
            throw MPNSError("channel has a user part")
        }
        let host = authority.prefix { $0 != ":" }.lowercased()
        guard host.hasSuffix(domain) else { throw MPNSError("channel leads elsewhere than \(domain)") }
        self.uri = uri
    }
}
