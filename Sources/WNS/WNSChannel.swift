/// Where one device is reached, as Windows gave it to the app. Kept byte for byte: an altered one is unknown to the service.
public struct WNSChannel: Sendable, Hashable {
    public let uri: String

    /// Channel URIs lead there and nowhere else; to any other host we would hand our access token.
    /// Source: Microsoft, "Windows Push Notification Services (WNS) overview".
    public static let domain = ".notify.windows.com"

    /// - Parameter domain: what the host has to end in; another one is for simulators.
    public init(_ uri: String, domain: String = domain) throws(WNSError) {
        guard uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), uri.hasPrefix("https://") else {
            throw WNSError("channel has to be an https URI of visible ASCII")
        }
        let authority = uri.dropFirst(8).prefix { !"/?#".contains($0) }
        // A user part or a backslash would let the host be read in two ways.
        guard !authority.contains(where: { "@\\".contains($0) }) else {
            throw WNSError("channel has a user part")
        }
        let host = authority.prefix { $0 != ":" }.lowercased()
        guard host.hasSuffix(domain) else { throw WNSError("channel leads elsewhere than \(domain)") }
        self.uri = uri
    }
}
