import BelfryCore
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import BelfryAPI

/// Who is made to wait, and who is not.
@Suite struct GatekeeperTests {
    private static let push = #"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#

    private func stand(_ limits: [Principal.Kind: RateLimit], clock: HandClock) async throws -> Stand {
        var stand = try await Stand()
        stand.gatekeeper = Gatekeeper(options: .init(limits: limits), clock: clock)
        return stand
    }

    @Test func `a sender over its limit gets a 429 that says when to come again, and is served then`() async throws {
        let clock = HandClock()
        let stand = try await stand([.sender: RateLimit(perSecond: 1, burst: 2)], clock: clock)
        for _ in 0..<2 { #expect(try await stand.push(Self.push).status == 200) }
        let refused = try await stand.push(Self.push)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "1")
        #expect(refused.headers[.rateLimit] == #""sender";r=0;t=1"#)
        #expect(refused.headers[.rateLimitPolicy] == #""sender";q=2;w=2"#)
        #expect(await stand.store.pushes.count == 2)
        clock.advance(by: .seconds(1))
        #expect(try await stand.push(Self.push).status == 200)
        #expect(try await stand.push(Self.push).status == 429)
    }

    @Test func `where there are other nodes, a caller gets this one's part`() async throws {
        let stand = try await stand([.sender: RateLimit(perSecond: 2, burst: 4)], clock: HandClock())
        stand.gatekeeper?.take(NodeShare(nodes: 2))
        for _ in 0..<2 { #expect(try await stand.push(Self.push).status == 200) }
        #expect(try await stand.push(Self.push).headers[.rateLimitPolicy] == #""sender";q=2;w=2"#)
        stand.gatekeeper?.take(.whole)
        #expect(try await stand.push(Self.push).headers[.rateLimitPolicy] == #""sender";q=4;w=2"#)
    }

    @Test func `each caller has a share of its own`() async throws {
        let limit = RateLimit(perSecond: 1, burst: 1)
        let stand = try await stand([.devices: limit], clock: HandClock())
        for user in [Stand.User.iPhone, .android] {
            #expect(try await stand.register(#"{"registration_token":"ab"}"#, on: user).status == 200)
            #expect(try await stand.register(#"{"registration_token":"ab"}"#, on: user).status == 429)
        }
        for _ in 0..<10 { #expect(try await stand.push(Self.push).status == 200) }
    }

    @Test func `where there are other nodes, a guesser has this one's part of the tries`() async throws {
        let stand = try await stand([:], clock: HandClock())
        stand.gatekeeper?.take(NodeShare(nodes: 5))
        let wrong: HTTPFields = [.authorization: Stand.User.basic(stand.ios.uuid.uuidString, "wrong")]
        // Callers are known by their address, which takes a connection.
        let statuses = try await stand.app().test(.live) { client in
            var statuses: [Int] = []
            for _ in 0..<3 {
                let response = try await client.execute(uri: "/v1/registration", method: .post, headers: wrong)
                statuses.append(response.status.code)
            }
            return statuses
        }
        #expect(statuses == [401, 401, 429])
    }

    @Test func `a wrong secret takes nothing of the share`() async throws {
        let stand = try await stand([.devices: RateLimit(perSecond: 1, burst: 1)], clock: HandClock())
        let wrong = Stand.User.raw(Stand.User.basic(stand.ios.uuid.uuidString, "wrong"))
        for _ in 0..<5 { #expect(try await stand.register("{}", on: wrong).status == 401) }
        #expect(try await stand.register(#"{"registration_token":"ab"}"#).status == 200)
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
    func `the caller is the last hop that is no proxy of ours`(peer: String, hops: [String], caller: String) throws {
        let proxies = TrustedProxies(try ["10.0.0.0/8", "::1"].map { try #require(NetworkBlock($0)) })
        var headers = HTTPFields()
        for hop in hops { headers.append(HTTPField(name: .xForwardedFor, value: hop)) }
        let found = proxies.caller(from: try #require(NetworkAddress(peer)), headers)
        #expect(found == NetworkAddress(caller))
    }

    @Test(arguments: ["", "x", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "::/129", "localhost"])
    func `what is no block is none`(text: String) {
        #expect(NetworkBlock(text) == nil)
    }
}
