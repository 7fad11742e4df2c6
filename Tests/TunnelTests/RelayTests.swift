import NIOCore
import NIOPosix
import Testing

@testable import Tunnel

/// A relay on the loopback before a scripted proxy.
@Suite struct RelayTests {
    private static let login = ProxyLogin(user: "relay", password: "pw")

    @Test func `a request is read whether host or address`() {
        let authorization = "Proxy-Authorization: Basic cmVsYXk6cHc="
        func request(_ line: String, _ header: String = authorization) -> RelayRequest? {
            RelayRequest(Array("\(line)\r\nhost: x\r\n\(header)\r\n\r\n".utf8), login: Self.login)
        }
        #expect(request("CONNECT push.example:443 HTTP/1.1")?.target == Target(host: "push.example", port: 443))
        #expect(request("CONNECT [::1]:8443 HTTP/1.1")?.target == Target(host: "::1", port: 8_443))
        #expect(request("CONNECT a:1 HTTP/1.1")?.isWelcome == true)
        #expect(request("CONNECT a:1 HTTP/1.1", "proxy-authorization:  Basic cmVsYXk6cHc=")?.isWelcome == true)
        #expect(request("CONNECT a:1 HTTP/1.1", "Proxy-Authorization: Basic cmVsYXk6cHg=")?.isWelcome == false)
        #expect(request("CONNECT a:1 HTTP/1.1", "x: Proxy-Authorization: Basic cmVsYXk6cHc=")?.isWelcome == false)
        for line in [
            "GET / HTTP/1.1", "CONNECT a HTTP/1.1", "CONNECT a:0 HTTP/1.1", "CONNECT :1 HTTP/1.1",
            "CONNECT a:x HTTP/1.1",
        ] {
            #expect(request(line) == nil, "\(line)")
        }
    }

    @Test func `what goes in comes out, both ways and in order, until one side ends`() async throws {
        let proxy = try await ScriptedProxy.start(answering: "HTTP/1.1 200 OK\r\n\r\n")
        try await Self.with(proxy) { relay in
            let caller = try await Caller.connect(relay.port)
            try await caller.say(Self.connect(relay.password))
            let answer = try await caller.hear(19)
            #expect(answer == "HTTP/1.1 200 OK\r\n\r\n")
            // The scripted proxy echoes.
            let text = String(repeating: "0123456789", count: 200_000)
            async let said: Void = caller.say(text)
            let heard = try await caller.hear(text.utf8.count)
            try await said
            #expect(heard == text)
            try await proxy.closeConnections()
            try await caller.untilClosed()
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 403 no\r\n\r\n", "502"), ("HTTP/1.1 407 no\r\n\r\n", "407"), ("nonsense", "502"), ("", "504"),
    ])
    func `whatever keeps the tunnel from opening is heard as a status`(answer: String, status: String) async throws {
        let proxy = try await ScriptedProxy.start(answering: answer)
        try await Self.with(proxy, deadline: answer.isEmpty ? .milliseconds(500) : .seconds(30)) { relay in
            let caller = try await Caller.connect(relay.port)
            try await caller.say(Self.connect(relay.password))
            let heard = try await caller.hear(12)
            #expect(heard == "HTTP/1.1 \(status)")
            try await caller.untilClosed()
        }
    }

    @Test func `who does not know the password gets nothing, and the proxy hears nothing`() async throws {
        let proxy = try await ScriptedProxy.start(answering: "HTTP/1.1 200 OK\r\n\r\n")
        try await Self.with(proxy) { relay in
            for words in [Self.connect("wrong"), "GET / HTTP/1.1\r\n\r\n", String(repeating: "x", count: 10_000)] {
                let caller = try await Caller.connect(relay.port)
                try? await caller.say(words)
                try await caller.untilClosed()
                let heard = await caller.all
                #expect(heard.isEmpty || heard.hasPrefix("HTTP/1.1 40"), "\(heard)")
            }
            #expect(proxy.connections == 0)
        }
    }

    @Test func `closing the relay ends what goes through it`() async throws {
        let proxy = try await ScriptedProxy.start(answering: "HTTP/1.1 200 OK\r\n\r\n")
        try await Self.with(proxy) { relay in
            let caller = try await Caller.connect(relay.port)
            try await caller.say(Self.connect(relay.password))
            _ = try await caller.hear(19)
            await relay.close()
            try await caller.untilClosed()
        }
    }

    private static func connect(_ password: String) -> String {
        let handshake = ConnectHandshake(
            target: HandshakeTests.target, login: ProxyLogin(user: "relay", password: password))
        return String(decoding: handshake.begin(), as: UTF8.self)
    }

    private static func with(
        _ proxy: ScriptedProxy, deadline: Duration = .seconds(30), _ body: (Relay) async throws -> Void
    ) async throws {
        let tunnel = Tunnel(through: try Proxy(.http, host: "127.0.0.1", port: proxy.port))
        let relay = try await Relay.start(
            tunnel, deadline: deadline, on: MultiThreadedEventLoopGroup.singleton)
        do {
            try await body(relay)
        } catch {
            await relay.close()
            try await proxy.stop()
            throw error
        }
        await relay.close()
        try await proxy.stop()
    }
}
