import Foundation
import NIOCore

/// CONNECT over SOCKS 5. The proxy resolves the name. Source: RFC 1928; RFC 1929 for the login.
struct SOCKS5Handshake: Handshake {
    let target: Target
    let login: ProxyLogin?
    private(set) var awaited = Awaited.method
    private(set) var bytes: [UInt8] = []

    enum Awaited { case method, verdict, reply }

    private static let version: UInt8 = 5
    private static let noLogin: UInt8 = 0
    private static let byPassword: UInt8 = 2
    private static let noneTaken: UInt8 = 0xFF
    private static let garbled = TunnelError(.garbled, "its answer is not SOCKS 5")

    func begin() -> [UInt8] {
        let methods = login == nil ? [Self.noLogin] : [Self.noLogin, Self.byPassword]
        return [Self.version, UInt8(methods.count)] + methods
    }

    mutating func receive(_ received: some Sequence<UInt8>) throws(TunnelError) -> HandshakeStep {
        bytes += received
        switch awaited {
        case .method:
            guard let answer = try take(2, beginningWith: Self.version) else { return .wait }
            return .send(try reply(toMethod: answer[1]))
        case .verdict:
            guard let answer = try take(2, beginningWith: 1) else { return .wait }
            guard answer[1] == 0 else { throw TunnelError(.credentials, "it refuses user and password") }
            awaited = .reply
            return .send(request)
        case .reply: return try isOpen() ? .open(bytes) : .wait
        }
    }

    /// Each answer is due only after its request, so nothing may follow it.
    private mutating func take(_ count: Int, beginningWith version: UInt8) throws(TunnelError) -> [UInt8]? {
        guard bytes.first.map({ $0 == version }) ?? true, bytes.count <= count else { throw Self.garbled }
        guard bytes.count == count else { return nil }
        defer { bytes = [] }
        return bytes
    }

    private mutating func reply(toMethod method: UInt8) throws(TunnelError) -> [UInt8] {
        switch (method, login) {
        case (Self.noLogin, _):
            awaited = .reply
            return request
        case (Self.byPassword, let login?):
            awaited = .verdict
            return [1] + Self.counted(login.user) + Self.counted(login.password)
        case (Self.noneTaken, nil):
            throw TunnelError(.credentials, "it requires a login, and none is configured")
        case (Self.noneTaken, _):
            throw TunnelError(.credentials, "it takes no login by user and password")
        default:
            throw TunnelError(.garbled, "it chose the way to log in \(method), which was not offered")
        }
    }

    private var request: [UInt8] {
        [Self.version, 1, 0] + address + [
            UInt8(truncatingIfNeeded: target.port >> 8), UInt8(truncatingIfNeeded: target.port),
        ]
    }

    private var address: [UInt8] {
        switch try? SocketAddress(ipAddress: target.host, port: 0) {
        case .v4(let address): [1] + withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address): [4] + withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        default: [3] + Self.counted(target.host)
        }
    }

    /// The text, preceded by its length in a byte; it is known to fit.
    private static func counted(_ text: String) -> [UInt8] {
        [UInt8(clamping: text.utf8.count)] + text.utf8.prefix(255)
    }

    /// Whether the reply is complete and successful; what follows it stays. The second byte of a refusal is enough.
    private mutating func isOpen() throws(TunnelError) -> Bool {
        guard bytes.first.map({ $0 == Self.version }) ?? true else { throw Self.garbled }
        guard bytes.count >= 2 else { return false }
        guard bytes[1] == 0 else {
            throw TunnelError(.refused, "it refuses to connect to \(target): \(Self.words(bytes[1]))")
        }
        guard bytes.count >= 5 else { return false }
        let addressBytes: Int
        switch bytes[3] {
        case 1: addressBytes = 4
        case 3: addressBytes = 1 + Int(bytes[4])
        case 4: addressBytes = 16
        default: throw Self.garbled
        }
        let count = 4 + addressBytes + 2
        guard bytes.count >= count else { return false }
        bytes.removeFirst(count)
        return true
    }

    /// Source: RFC 1928 §6.
    private static func words(_ reply: UInt8) -> String {
        switch reply {
        case 1: "general failure"
        case 2: "not allowed by its rules"
        case 3: "network unreachable"
        case 4: "host unreachable"
        case 5: "connection refused"
        case 6: "TTL expired"
        case 7: "command not supported"
        case 8: "address type not supported"
        default: "reply \(reply)"
        }
    }
}
