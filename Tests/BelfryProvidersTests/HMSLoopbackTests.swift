import BelfryCore
import BelfrySimulators
import Testing

@testable import BelfryProviders

/// Every row of the table of Push Kit in docs/Providers.md, over TLS, against the simulator.
@Suite struct HMSLoopbackTests {
    private static func with(
        secret: String? = nil, deadline: Duration = .seconds(20), _ body: (HMSSimulator, Rehearsal) async throws -> Void
    ) async throws {
        var configuration = HMSConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await HMSSimulator.start(configuration)
        do {
            let credentials = HMSPlatformCredentials(
                appID: configuration.credentials.clientID, appSecret: secret ?? configuration.credentials.clientSecret,
                endpoint: simulator.url, tokenURL: simulator.tokenURL, trustRootsPEM: simulator.trustRootPEM)
            try await Rehearsal.with(.huawei, credentials, deadline: deadline) { try await body(simulator, $0) }
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    @Test func `a page arrives in one request, and its illegal tokens are refused`() async throws {
        try await Self.with { simulator, rehearsal in
            simulator.script.answer(ScriptedAnswer("illegal"), for: ["b"])
            let outcomes = await rehearsal.send(["a", "b", "c"], expiresIn: .seconds(60))
            #expect(outcomes == [.accepted, .refused(.badToken), .accepted])
            let payload = try #require(simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload)
            #expect(payload.contains(#""ttl":"60s""#) && payload.contains(#"\"message\":\"hello\""#), "\(payload)")
            #expect(simulator.service.accessTokens.issued == 1)
        }
    }

    @Test(arguments: [
        (ScriptedAnswer("80300007"), Outcome.refused(.badToken)), (ScriptedAnswer("80100001"), .refused(.other)),
        (ScriptedAnswer("80100002"), .refused(.other)), (ScriptedAnswer("80100003"), .refused(.other)),
        (ScriptedAnswer("80100004"), .refused(.badExpiration)), (ScriptedAnswer("80100013"), .refused(.badCollapseID)),
        (ScriptedAnswer("80100016"), .refused(.forbidden)), (ScriptedAnswer("80100017"), .throttled(retryAfter: nil)),
        (ScriptedAnswer("80100018"), .refused(.other)), (ScriptedAnswer("80200001"), .barred("HMS answered 80200001")),
        (ScriptedAnswer("80200003"), .barred("HMS answered 80200003")),
        (ScriptedAnswer("80300002"), .barred("HMS answered 80300002")),
        (ScriptedAnswer("80300008"), .refused(.payloadTooLarge)), (ScriptedAnswer("80300010"), .refused(.other)),
        (ScriptedAnswer("80300011"), .barred("HMS answered 80300011")),
        (ScriptedAnswer("80600003"), .failed(retryAfter: nil)), (ScriptedAnswer("81000001"), .failed(retryAfter: nil)),
        (ScriptedAnswer("NotFound"), .barred("HMS answered 404")),
        (ScriptedAnswer("BadGateway"), .failed(retryAfter: nil)),
        (ScriptedAnswer("FlowControl", retryAfter: "4"), .throttled(retryAfter: .seconds(4))),
        (ScriptedAnswer(status: 200, body: "{}"), .unanswered),
    ])
    func `each code and status has its outcome`(answer: ScriptedAnswer, expected: Outcome) async throws {
        try await Self.with { simulator, rehearsal in
            simulator.script.add(ServiceFault(when: .init(path: "/v1/"), then: .answer(answer)))
            #expect(await rehearsal.send(["a", "b"]) == [expected, expected])
        }
    }

    @Test func `a token that ended before its time is replaced, once, and nothing is lost`() async throws {
        try await Self.with { simulator, rehearsal in
            #expect(await rehearsal.send(["a"]) == [.accepted])
            simulator.service.accessTokens.expireAll()
            #expect(await rehearsal.send(["b", "c"]) == [.accepted, .accepted])
            #expect(simulator.service.accessTokens.issued == 2)
        }
    }

    @Test func `credentials are tried without a word to a device`() async throws {
        try await Self.with { simulator, rehearsal in
            #expect(await rehearsal.provider.test() == .works)
            #expect(simulator.ledger.totals().told == 0)
        }
        try await Self.with(secret: "wrong") { simulator, rehearsal in
            guard case .refused = await rehearsal.provider.test() else {
                Issue.record("it works")
                return
            }
            guard case .barred? = await rehearsal.send(["a"]).first else {
                Issue.record("it was sent")
                return
            }
        }
    }

    @Test func `silence leaves a page unanswered, a door that is shut is failure`() async throws {
        try await Self.with { simulator, rehearsal in
            simulator.script.add(ServiceFault(when: .init(path: "/v1/"), then: .close(told: true)))
            #expect(await rehearsal.send(["a"]) == [.unanswered])
        }
        try await Self.with(deadline: .seconds(3)) { simulator, rehearsal in
            try await simulator.stopListening()
            #expect(await rehearsal.send(["a"]) == [.failed(retryAfter: nil)])
        }
    }
}
