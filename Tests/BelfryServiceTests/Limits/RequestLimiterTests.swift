import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Callers that are made to wait, and callers that are not.
@Suite struct RequestLimiterTests {
    private static let push = #"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#

    private func server(_ limits: [Principal.Kind: RateLimit], clock: ManualClock) async throws -> TestServer {
        var server = try await TestServer()
        server.requestLimiter = RequestLimiter(options: .init(limits: limits), clock: clock)
        return server
    }

    @Test func `a sender over its limit gets 429, then is served`() async throws {
        let clock = ManualClock()
        let server = try await server([.sender: RateLimit(perSecond: 1, burst: 2)], clock: clock)
        for _ in 0..<2 { #expect(try await server.push(Self.push).status == 200) }
        let refused = try await server.push(Self.push)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "1")
        #expect(refused.headers[.rateLimit] == #""sender";r=0;t=1"#)
        #expect(refused.headers[.rateLimitPolicy] == #""sender";q=2;w=2"#)
        #expect(try await server.store.allPushes().count == 2)
        clock.advance(by: .seconds(1))
        #expect(try await server.push(Self.push).status == 200)
        #expect(try await server.push(Self.push).status == 429)
    }

    @Test func `a node grants callers its part of the limit`() async throws {
        let server = try await server([.sender: RateLimit(perSecond: 2, burst: 4)], clock: ManualClock())
        server.requestLimiter?.take(NodeShare(nodes: 2))
        for _ in 0..<2 { #expect(try await server.push(Self.push).status == 200) }
        #expect(try await server.push(Self.push).headers[.rateLimitPolicy] == #""sender";q=2;w=2"#)
        server.requestLimiter?.take(.whole)
        #expect(try await server.push(Self.push).headers[.rateLimitPolicy] == #""sender";q=4;w=2"#)
    }

    @Test func `each caller has a share of its own`() async throws {
        let limit = RateLimit(perSecond: 1, burst: 1)
        let server = try await server([.devices: limit], clock: ManualClock())
        for user in [TestServer.User.iPhone, .android] {
            #expect(try await server.register(#"{"registration_token":"ab"}"#, on: user).status == 200)
            #expect(try await server.register(#"{"registration_token":"ab"}"#, on: user).status == 429)
        }
        for _ in 0..<10 { #expect(try await server.push(Self.push).status == 200) }
    }

    @Test func `a node grants guessers its part of the tries`() async throws {
        let server = try await server([:], clock: ManualClock())
        server.requestLimiter?.take(NodeShare(nodes: 5))
        let wrong = TestServer.User.basic(server.ios.uuid.uuidString, "wrong")
        #expect(try await Self.statuses(of: server, registering: [wrong, wrong, wrong]) == [401, 401, 429])
    }

    @Test func `a right platform secret passes while a guesser waits`() async throws {
        let server = try await server([:], clock: ManualClock())
        let wrong = TestServer.User.basic(server.ios.uuid.uuidString, "wrong")
        let guesses = Array(repeating: wrong, count: 7)
        let statuses = try await Self.statuses(
            of: server, registering: guesses + [try #require(TestServer.User.iPhone.header(server))] + guesses)
        #expect(statuses.prefix(7) == [401, 401, 401, 401, 401, 401, 429])
        #expect(statuses[7] == 400)
        #expect(statuses.last == 429)
    }

    @Test func `a right API key waits beside a guesser's address`() async throws {
        let server = try await server([:], clock: ManualClock())
        let wrong = TestServer.User.basic(server.application.uuid.uuidString, "wrong")
        let right = try #require(TestServer.User.sender.header(server))
        let headers = Array(repeating: wrong, count: 6) + [right]
        let statuses = try await Self.statuses(of: server, headers, at: "/v1/push")
        #expect(statuses == [401, 401, 401, 401, 401, 401, 429])
    }

    private static func statuses(of server: TestServer, registering headers: [String]) async throws -> [Int] {
        try await statuses(of: server, headers, at: "/v1/registration")
    }

    /// The answers to empty requests. Callers are known by their address, which takes a connection.
    private static func statuses(
        of server: TestServer, _ headers: [String], at path: String
    ) async throws -> [Int] {
        try await server.app().test(.live) { client in
            var statuses: [Int] = []
            for header in headers {
                let fields: HTTPFields = [.authorization: header]
                let response = try await client.execute(uri: path, method: .post, headers: fields)
                statuses.append(response.status.code)
            }
            return statuses
        }
    }

    @Test func `a wrong secret takes nothing of the share`() async throws {
        let server = try await server([.devices: RateLimit(perSecond: 1, burst: 1)], clock: ManualClock())
        let wrong = TestServer.User.raw(TestServer.User.basic(server.ios.uuid.uuidString, "wrong"))
        for _ in 0..<5 { #expect(try await server.register("{}", on: wrong).status == 401) }
        #expect(try await server.register(#"{"registration_token":"ab"}"#).status == 200)
    }
}

@Suite struct TrustedProxiesTests {
    @Test(
        arguments: [
            ("10.0.0.1", [], "10.0.0.1"), ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
            ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"), ("10.0.0.1", ["6.6.6.6, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", ["6.6.6.6", "198.51.100.7, 10.9.9.9"], "198.51.100.7"), ("10.0.0.1", ["10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["nonsense"], "10.0.0.1"), ("10.0.0.1", ["198.51.100.7, nonsense"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"), ("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
            ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"), ("10.0.0.1", [""], "10.0.0.1"),
            ("::1", ["198.51.100.7"], "198.51.100.7"), ("::2", ["198.51.100.7"], "::2"),
        ] as [(String, [String], String)])
    func `the caller is the last hop outside our proxies`(peer: String, hops: [String], caller: String) throws {
        let proxies = TrustedProxies(try ["10.0.0.0/8", "::1"].map { try #require(NetworkBlock($0)) })
        var headers = HTTPFields()
        for hop in hops { headers.append(HTTPField(name: .xForwardedFor, value: hop)) }
        let found = proxies.caller(from: try #require(NetworkAddress(peer)), headers)
        #expect(found == NetworkAddress(caller))
    }

    @Test(arguments: ["", "x", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "::/129", "localhost"])
    func `an invalid block is refused`(text: String) {
        #expect(NetworkBlock(text) == nil)
    }
}
