#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import FoundationEssentials
#endif

/// The request to a relay for a tunnel.
struct RelayRequest: Equatable {
    let target: Target
    let isWelcome: Bool

    static let bytesMax = 8_192

    /// nil when it is malformed.
    init?(_ head: [UInt8], login: ProxyLogin) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[0] == "CONNECT", words[2] == "HTTP/1.1",
            let colon = words[1].lastIndex(of: ":"), let port = Int(words[1][words[1].index(after: colon)...]),
            1...65_535 ~= port
        else { return nil }
        var host = words[1][..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.utf8.count <= 255 else { return nil }
        target = Target(host: String(host), port: port)
        let credentials = Data("\(login.user):\(login.password)".utf8).base64EncodedString()
        isWelcome = lines.dropFirst().contains { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "proxy-authorization"
                && parts[1].drop { $0 == " " } == "Basic \(credentials)"
        }
    }
}
