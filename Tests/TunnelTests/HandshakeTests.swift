import Testing

@testable import Tunnel

/// Requests to a proxy and its answers: whole, byte by byte, cut short and garbled.
@Suite struct HandshakeTests {
    static let target = Target(host: "push.example", port: 443)
    static let login = ProxyLogin(user: "belfry", password: "s3cret")

    /// Feeds an answer in pieces; the last step is the verdict.
    static func feed(_ handshake: inout some Handshake, _ answer: [UInt8], pieces: Int) throws -> HandshakeStep {
        var step = HandshakeStep.wait
        var rest = answer[...]
        while !rest.isEmpty {
            step = try handshake.receive(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            guard case .open(let early) = step else { continue }
            return .open(early + rest)
        }
        return step
    }

    static let pieces = [1, 2, 3, 7, 100_000]

    // MARK: CONNECT

    @Test func `CONNECT names host and port, and who we are`() {
        let plain = ConnectHandshake(target: Self.target, login: nil).begin()
        #expect(
            String(decoding: plain, as: UTF8.self)
                == "CONNECT push.example:443 HTTP/1.1\r\nHost: push.example:443\r\n\r\n")
        let six = ConnectHandshake(target: Target(host: "2001:db8::1", port: 8_443), login: nil).begin()
        #expect(String(decoding: six, as: UTF8.self).hasPrefix("CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n"))
        // Source: RFC 7617 §2.
        let known = ConnectHandshake(
            target: Self.target, login: ProxyLogin(user: "Aladdin", password: "open sesame")
        ).begin()
        #expect(
            String(decoding: known, as: UTF8.self)
                .contains("\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"))
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\r\nProxy-agent: x\r\n\r\n",
            "HTTP/1.1 204 \n\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ], pieces)
    func `a 2xx answer opens the tunnel and keeps later bytes`(answer: String, pieces: Int) throws {
        var handshake = ConnectHandshake(target: Self.target, login: nil)
        let step = try Self.feed(&handshake, Array((answer + "early").utf8), pieces: pieces)
        #expect(step == .open(Array("early".utf8)))
    }

    @Test(
        arguments: [
            ("HTTP/1.1 403 Filtered\r\n\r\n", .refused), ("HTTP/1.1 502 \r\nServer: x\r\n\r\n<html>", .refused),
            ("HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n", .credentials),
            ("HTTP/1.0 401 Unauthorized\r\n\r\n", .credentials), ("HTTP/1.1 301 x\r\nLocation: y\r\n\r\n", .refused),
            ("HTTP/2 200\r\n\r\n", .garbled), ("SSH-2.0-OpenSSH_9.2\r\n", .garbled), ("\u{5}\u{0}", .garbled),
            ("HTTP/1.1 20\r\n\r\n", .garbled), ("HTTP/1.1 2000\r\n\r\n", .garbled), ("HTTP/1.1  200\r\n\r\n", .garbled),
            ("HTTP/1.1 -20\r\n\r\n", .garbled), ("HTTP/1.1 099\r\n\r\n", .garbled), ("HTTP/1.\r\n\r\n", .garbled),
            ("\r\n\r\n", .garbled), ("HTTP/1.1 200 \(String(repeating: "x", count: 20_000))", .garbled),
            (String(repeating: "HTTP/1.1 200 OK\r\n", count: 1_000), .garbled),
        ] as [(String, TunnelError.Code)], pieces)
    func `any other answer is a refusal that says why`(row: (answer: String, code: TunnelError.Code), pieces: Int) {
        let error = #expect(throws: TunnelError.self) {
            var handshake = ConnectHandshake(target: Self.target, login: Self.login)
            _ = try Self.feed(&handshake, Array(row.answer.utf8), pieces: pieces)
        }
        #expect(error?.code == row.code)
        #expect(error?.reason.contains("s3cret") == false)
    }

    @Test func `an answer that is cut short is waited for`() throws {
        let answer = Array("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n".utf8)
        for count in 1..<answer.count {
            var handshake = ConnectHandshake(target: Self.target, login: nil)
            let step = try Self.feed(&handshake, Array(answer.prefix(count)), pieces: 5)
            #expect(step == .wait)
        }
    }

    // MARK: SOCKS 5

    private static let request: [UInt8] = [5, 1, 0, 3, 12] + Array("push.example".utf8) + [1, 0xBB]
    private static let openV4: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 4, 0x38]

    @Test func `a login is offered only where there is one`() {
        #expect(SOCKS5Handshake(target: Self.target, login: nil).begin() == [5, 1, 0])
        #expect(SOCKS5Handshake(target: Self.target, login: Self.login).begin() == [5, 2, 0, 2])
    }

    @Test(
        arguments: [
            openV4, [5, 0, 0, 4] + [UInt8](repeating: 7, count: 16) + [0, 80],
            [5, 0, 0, 3, 5] + Array("proxy".utf8) + [0, 80], [5, 0, 0, 3, 0, 0, 80],
        ], pieces)
    func `user, password and a proxy-resolved name are sent`(reply: [UInt8], pieces: Int) throws {
        var handshake = SOCKS5Handshake(target: Self.target, login: Self.login)
        _ = handshake.begin()
        let chosen = try Self.feed(&handshake, [5, 2], pieces: pieces)
        #expect(chosen == .send([1, 6] + Array("belfry".utf8) + [6] + Array("s3cret".utf8)))
        let known = try Self.feed(&handshake, [1, 0], pieces: pieces)
        #expect(known == .send(Self.request))
        let opened = try Self.feed(&handshake, reply + [1, 2, 3], pieces: pieces)
        #expect(opened == .open([1, 2, 3]))
    }

    @Test func `a proxy that wants no login gets none`() throws {
        for login in [nil, Self.login] {
            var handshake = SOCKS5Handshake(target: Self.target, login: login)
            _ = handshake.begin()
            let step = try handshake.receive([5, 0])
            #expect(step == .send(Self.request))
        }
    }

    @Test(
        arguments: [
            ("10.1.2.3", [1, 10, 1, 2, 3]),
            ("2001:db8::1", [4, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            ("a", [3, 1, 0x61]),
        ] as [(String, [UInt8])])
    func `addresses go as addresses, names as names`(host: String, address: [UInt8]) throws {
        var handshake = SOCKS5Handshake(target: Target(host: host, port: 0x1234), login: nil)
        _ = handshake.begin()
        let step = try handshake.receive([5, 0])
        #expect(step == .send([5, 1, 0] + address + [0x12, 0x34]))
    }

    @Test(
        arguments: [
            // The choice of a login.
            ([[4, 0]], .garbled), ([[5, 1]], .garbled), ([[5, 0xFF]], .credentials), ([[5, 2, 0]], .garbled),
            ([Array("HTTP/1.0 400 Bad Request\r\n".utf8)], .garbled),
            // The verdict on it.
            ([[5, 2], [1, 1]], .credentials), ([[5, 2], [1, 0xFF]], .credentials), ([[5, 2], [5, 0]], .garbled),
            // The reply.
            ([[5, 0], [5, 1, 0, 1]], .refused), ([[5, 0], [5, 2]], .refused),
            ([[5, 0], [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]], .refused),
            ([[5, 0], [5, 200]], .refused), ([[5, 0], [4, 0]], .garbled), ([[5, 0], [5, 0, 0, 2, 0]], .garbled),
        ] as [([[UInt8]], TunnelError.Code)], pieces)
    func `a no is told apart from nonsense`(row: (answers: [[UInt8]], code: TunnelError.Code), pieces: Int) {
        let error = #expect(throws: TunnelError.self) {
            var handshake = SOCKS5Handshake(target: Self.target, login: Self.login)
            _ = handshake.begin()
            for answer in row.answers { _ = try Self.feed(&handshake, answer, pieces: pieces) }
        }
        #expect(error?.code == row.code)
        #expect(error?.reason.contains("s3cret") == false)
    }

    @Test func `a login not offered by the proxy is withheld`() {
        #expect(throws: TunnelError.self) {
            var handshake = SOCKS5Handshake(target: Self.target, login: nil)
            _ = try handshake.receive([5, 2])
        }
    }

    @Test func `a reply that is cut short is waited for`() throws {
        for count in 1..<Self.openV4.count {
            var handshake = SOCKS5Handshake(target: Self.target, login: nil)
            _ = try handshake.receive([5, 0])
            let step = try handshake.receive(Self.openV4.prefix(count))
            #expect(step == .wait)
        }
    }

    /// Whatever comes, there is a step or a refusal, and what is held stays small.
    @Test func `noise is answered and not kept`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let noise = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            for start in [[UInt8](), [5, 0], [5, 0, 5, 0, 0]] {
                var socks = SOCKS5Handshake(target: Self.target, login: Self.login)
                _ = try? Self.feed(&socks, start + noise, pieces: 2)
                var connect = ConnectHandshake(target: Self.target, login: Self.login)
                _ = try? Self.feed(&connect, Array("HTTP/1.".utf8) + noise, pieces: 3)
            }
        }
    }
}
