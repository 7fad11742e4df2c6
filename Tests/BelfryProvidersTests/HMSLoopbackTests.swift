import BelfryService
import BelfrySimulators
import Testing

@testable import BelfryProviders

/// Every row of the table of Push Kit in docs/Providers.md, over TLS, against the simulator.
@Suite struct HMSLoopbackTests {
    /// Which interface is spoken; what each needs is entered as a person would.
    enum Version: String, CaseIterable {
        case v1, v2, v3
    }

    static func with(
        _ version: Version = .v1, secret: String? = nil, _ body: (HMSSimulator, TestProvider) async throws -> Void
    ) async throws {
        var configuration = HMSConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await HMSSimulator.start(configuration)
        do {
            let credentials = try HMSPlatformCredentials(entered: entered(version, secret, simulator, configuration))
            try await TestProvider.with(.huawei, credentials) { try await body(simulator, $0) }
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    private static func entered(
        _ version: Version, _ secret: String?, _ simulator: HMSSimulator, _ configuration: HMSConfiguration
    ) -> [String: JSONValue] {
        var fields: [String: JSONValue] = [
            "endpoint": .string(simulator.url), "trust_root": .string(simulator.trustRootPEM),
        ]
        if version == .v3 {
            let account = simulator.service.account
            fields["service_account"] = .object([
                "project_id": .string(configuration.projectID), "key_id": .string(account.keyID),
                "sub_account": .string(account.email), "private_key": .string(account.privateKeyPEM),
            ])
            return fields
        }
        fields["app_id"] = .string(configuration.credentials.clientID)
        fields["app_secret"] = .string(secret ?? configuration.credentials.clientSecret)
        fields["token_url"] = .string(simulator.tokenURL)
        if version == .v2 { fields["project_id"] = .string(configuration.projectID) }
        return fields
    }

    @Test(arguments: Version.allCases)
    func `each interface takes a batch, and refuses the illegal tokens`(version: Version) async throws {
        try await Self.with(version) { simulator, fixture in
            simulator.script.answer(ScriptedAnswer("illegal"), for: ["b"])
            #expect(await fixture.send(["a", "b", "c"]) == [.accepted, .refused(.badToken), .accepted])
            #expect(simulator.service.accessTokens.issued == (version == .v3 ? 0 : 1))
        }
    }

    @Test func `v3 shows titled pushes and leaves others to apps`() async throws {
        try await Self.with(.v3) { simulator, fixture in
            let titled = Push.Content(
                body: "hello", custom: ["huawei": .object(["title": .string("News"), "category": .string("IM")])])
            #expect(await fixture.send(["a"], content: titled, expiresIn: .seconds(60)) == [.accepted])
            #expect(await fixture.send(["b"]) == [.accepted])
            let shown = try #require(simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload)
            #expect(shown.contains(#""title":"News""#) && shown.contains(#""category":"IM""#), "\(shown)")
            #expect(shown.contains(#""pushOptions":{"ttl":60}"#), "\(shown)")
            let quiet = try #require(simulator.ledger.token(Array("b".utf8))?.lastRequest?.payload)
            #expect(quiet.contains(#"{"extraData":"{\"message\":\"hello\""#), "\(quiet)")
        }
    }

    @Test func `v3 carries every field in Huawei's words`() async throws {
        try await Self.with(.v3) { simulator, fixture in
            #expect(await fixture.send(["a"], content: SharedFieldsLoopbackTests.content) == [.accepted])
            let payload = simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload
            #expect(
                payload
                    == #"{"payload":{"notification":{"badge":{"setNum":3},"body":"Fresh \"cheese\" <&>","category":"MARKETING","clickAction":{"actionType":0,"data":{\#(SharedFieldsLoopbackTests.dataTexts)}},"image":"https://shop.example/c.jpg","title":"جبن 🧀"}},"target":{"token":["a"]}}"#
            )
        }
    }

    @Test func `v3 refusals of us bar, refusals of devices stay theirs`() async throws {
        try await Self.with(.v3) { simulator, fixture in
            for (cause, expected) in [
                ("noRight", Outcome.refused(.tokenOfAnotherApplication)), ("noPushTypeRight", .refused(.forbidden)),
                ("noRightToSendThisLiveNotificationEvent", .refused(.forbidden)),
                ("appinfoError", .credentialsRefused("HMS answered appinfoError")),
                ("tokenFormatError", .refused(.badToken)),
                ("countryNotSupport", .refused(.forbidden)), ("tokenPlatformNotSupport", .refused(.forbidden)),
                ("quiteNew", .refused(.badToken)),
            ] {
                let body = #"{"code":"80100000","msg":"{\"illegal_tokens\":{\"\#(cause)\":[\"b\"]}}","requestId":"r"}"#
                simulator.script.add(ServiceFault(times: 1, then: .answer(ScriptedAnswer(status: 200, body: body))))
                #expect(await fixture.send(["a", "b"]) == [.accepted, expected])
            }
        }
    }

    @Test(arguments: [(BadgeChange.set(5_000), #""badge":{"setNum":99}"#), (.add(100), #""badge":{"addNum":99}"#)])
    func `a badge shows no more than Huawei takes`(badge: BadgeChange, sent: String) async throws {
        try await Self.with(.v3) { simulator, fixture in
            var content = SharedFieldsLoopbackTests.content
            content.badge = badge
            #expect(await fixture.send(["a"], content: content) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("a".utf8))?.lastRequest?.payload)
            #expect(payload.contains(sent), "\(payload)")
        }
    }

    @Test(arguments: ["80200005", "80300036"])
    func `a refused JWT is signed anew once`(code: String) async throws {
        try await Self.with(.v3) { simulator, fixture in
            simulator.script.add(ServiceFault(times: 1, then: .answer(ScriptedAnswer(code))))
            #expect(await fixture.send(["a"]) == [.accepted])
        }
    }

    @Test func `a service account is tested with a token nobody has`() async throws {
        try await Self.with(.v3) { simulator, fixture in
            simulator.script.answer(ScriptedAnswer("illegal"), for: ["belfry-credentials-test"])
            #expect(await fixture.provider.test() == .works)
            #expect(await fixture.provider.refusesCredentials() == nil)
            simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer("80200001"))))
            #expect(await fixture.provider.test() == .refused("HMS answered 80200001"))
        }
    }

    @Test func `a batch is one request and illegal tokens are refused`() async throws {
        try await Self.with { simulator, fixture in
            simulator.script.answer(ScriptedAnswer("illegal"), for: ["b"])
            let outcomes = await fixture.send(["a", "b", "c"], expiresIn: .seconds(60))
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
        (ScriptedAnswer("80100018"), .refused(.other)),
        (ScriptedAnswer("80200001"), .credentialsRefused("HMS answered 80200001", by: .request)),
        (ScriptedAnswer("80200003"), .credentialsRefused("HMS answered 80200003", by: .request)),
        (ScriptedAnswer("80300002"), .credentialsRefused("HMS answered 80300002", by: .request)),
        (ScriptedAnswer("80300008"), .refused(.payloadTooLarge)), (ScriptedAnswer("80300010"), .refused(.other)),
        (ScriptedAnswer("80300011"), .credentialsRefused("HMS answered 80300011", by: .request)),
        (ScriptedAnswer("80600003"), .failed(retryAfter: nil)), (ScriptedAnswer("81000001"), .failed(retryAfter: nil)),
        (ScriptedAnswer("NotFound"), .credentialsRefused("HMS answered 404", by: .request)),
        (ScriptedAnswer(status: 401), .credentialsRefused("HMS answered 401", by: .request)),
        (ScriptedAnswer(status: 403), .credentialsRefused("HMS answered 403", by: .request)),
        (ScriptedAnswer(status: 302), .credentialsRefused("HMS answered 302", by: .request)),
        (ScriptedAnswer(status: 429, retryAfter: "9"), .throttled(retryAfter: .seconds(9))),
        (ScriptedAnswer(status: 500), .failed(retryAfter: nil)), (ScriptedAnswer(status: 418), .refused(.other)),
        (ScriptedAnswer(status: 400, body: #"{"code":"89999999"}"#), .refused(.other)),
        (ScriptedAnswer("80100000", body: #"{"code":"80100000","msg":"some"}"#), .unanswered),
        (ScriptedAnswer("BadGateway"), .failed(retryAfter: nil)),
        (ScriptedAnswer("FlowControl", retryAfter: "4"), .throttled(retryAfter: .seconds(4))),
        (ScriptedAnswer(status: 200, body: "{}"), .unanswered),
    ])
    func `each code and status has its outcome`(answer: ScriptedAnswer, expected: Outcome) async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(when: .init(path: "/v1/"), then: .answer(answer)))
            #expect(await fixture.send(["a", "b"]) == [expected, expected])
        }
    }

    @Test func `a token ending early is replaced once without loss`() async throws {
        try await Self.with { simulator, fixture in
            #expect(await fixture.send(["a"]) == [.accepted])
            simulator.service.accessTokens.expireAll()
            #expect(await fixture.send(["b", "c"]) == [.accepted, .accepted])
            #expect(simulator.service.accessTokens.issued == 2)
        }
    }

    @Test func `credentials are tried without a word to a device`() async throws {
        try await Self.with { simulator, fixture in
            #expect(await fixture.provider.test() == .works)
            #expect(simulator.ledger.totals().told == 0)
        }
        try await Self.with(secret: "wrong") { simulator, fixture in
            guard case .refused = await fixture.provider.test() else {
                Issue.record("it works")
                return
            }
            guard case .credentialsRefused? = await fixture.send(["a"]).first else {
                Issue.record("it was sent")
                return
            }
        }
    }

    @Test func `silence leaves a batch unanswered; a closed port fails`() async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(when: .init(path: "/v1/"), then: .close(told: true)))
            #expect(await fixture.send(["a"]) == [.unanswered])
        }
        try await Self.with { simulator, fixture in
            try await simulator.stopListening()
            let outcomes = await fixture.send(["a"])
            #expect(outcomes.first?.connectionFault?.kind == .connect, "\(outcomes)")
        }
    }
}
