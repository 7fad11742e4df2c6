import FoundationEssentials

/// CONNECT over HTTP/1.1. Source: RFC 9110 §9.3.6, RFC 9112 §3.2.3; RFC 7617 for the login.
struct ConnectHandshake: Handshake {
    let target: Target
    let login: ProxyLogin?
    private(set) var head: [UInt8] = []

    /// The limit on the head of the answer. The body of a refusal is not read.
    static let headBytesMax = 16_384

    func begin() -> [UInt8] {
        var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
        if let login {
            let credentials = Data("\(login.user):\(login.password)".utf8).base64EncodedString()
            lines.append("Proxy-Authorization: Basic \(credentials)")
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    mutating func receive(_ bytes: some Sequence<UInt8>) throws(TunnelError) -> HandshakeStep {
        var bytes = Array(bytes)[...]
        while let byte = bytes.popFirst() {
            head.append(byte)
            guard head.count <= Self.headBytesMax else { throw garbled("its answer has no end") }
            guard head.count > Self.version.count || byte == Self.version[head.count - 1] else {
                throw garbled("its answer is not HTTP/1.1")
            }
            guard byte == UInt8(ascii: "\n"), isComplete else { continue }
            let status = try status()
            if 200..<300 ~= status { return .open(Array(bytes)) }
            guard status < 200 else { throw refusal(status) }
            head = []
        }
        return .wait
    }

    private static let version = Array("HTTP/1.".utf8)

    /// Whether the empty line that ends a head was received.
    private var isComplete: Bool {
        head.suffix(4).elementsEqual("\r\n\r\n".utf8) || head.suffix(2).elementsEqual("\n\n".utf8)
    }

    /// `HTTP/1.x SP 3DIGIT`, followed by a space or the end of the line.
    private func status() throws(TunnelError) -> Int {
        let line = head.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        let digits = line.dropFirst(9).prefix(3)
        guard line.count >= 12, line[8] == UInt8(ascii: " "), digits.allSatisfy({ 0x30...0x39 ~= $0 }),
            line.count == 12 || line[12] == UInt8(ascii: " "),
            let status = Int(String(decoding: digits, as: UTF8.self)), status >= 100
        else { throw garbled("its answer has no status") }
        return status
    }

    /// tinyproxy answers 401 to a wrong password, although that is meant for servers.
    private func refusal(_ status: Int) -> TunnelError {
        guard [401, 407].contains(status) else {
            return TunnelError(.refused, "it answered \(status) to CONNECT \(target)")
        }
        let words = login == nil ? "it requires a user and a password" : "it refuses user and password"
        return TunnelError(.credentials, "\(words) (\(status))")
    }

    private func garbled(_ words: String) -> TunnelError { TunnelError(.garbled, words) }
}

/// The exchange with a proxy until it has opened a connection to the target. No network, no clock.
protocol Handshake {
    /// The bytes that begin it.
    mutating func begin() -> [UInt8]
    /// Processes received bytes, in pieces of any size.
    mutating func receive(_ bytes: some Sequence<UInt8>) throws(TunnelError) -> HandshakeStep
}

enum HandshakeStep: Equatable {
    /// Wait for more bytes.
    case wait
    case send([UInt8])
    /// The connection is open; these bytes already came through it.
    case open([UInt8])
}

/// The destination of a connection.
struct Target: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let port: Int

    /// The form in `CONNECT` and `Host`.
    var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
