/// The address of one device, as Windows gave it to the app. Stored byte for byte: the service does not know an altered
/// one.
public struct WNSChannel: Sendable, Hashable {
    public let uri: String

    /// Channel URIs have this suffix; to any other host we would reveal our access token. Source: Microsoft, "Windows
    /// Push Notification Services (WNS) overview".
    public static let domain = ".notify.windows.com"

    /// - Parameter domain: the required suffix of the host; another one is for simulators.
    public init(_ uri: String, domain: String = domain) throws(WNSError) {
        guard uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), uri.hasPrefix("https://") else {
            throw WNSError("channel has to be an https URI of visible ASCII")
        }
        let authority = uri.dropFirst(8).prefix { !"/?#".contains($0) }
        // A user part or a backslash would make the host ambiguous.
        guard !authority.contains(where: { "@\\".contains($0) }) else {
            throw WNSError("channel has a user part")
        }
        let host = authority.prefix { $0 != ":" }.lowercased()
        guard host.hasSuffix(domain) else { throw WNSError("channel leads elsewhere than \(domain)") }
        self.uri = uri
    }
}
