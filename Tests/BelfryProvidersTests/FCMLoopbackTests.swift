import BelfryService
import BelfrySimulators
import Foundation
import Testing

@testable import BelfryProviders

/// Every row of the table of FCM in docs/Providers.md, over TLS, against the simulator.
@Suite struct FCMLoopbackTests {
    private static func with(
        _ kind: PlatformKind = .androidFCM, deadline: Duration = .seconds(20),
        simulate: (inout FCMConfiguration) -> Void = { _ in },
        account: (FCMSimulator) throws -> String = { $0.serviceAccountJSON },
        change: (inout ProviderOptions) -> Void = { _ in },
        _ body: (FCMSimulator, TestProvider) async throws -> Void
    ) async throws {
        var configuration = FCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        simulate(&configuration)
        let simulator = try await FCMSimulator.start(configuration)
        do {
            let credentials = FCMPlatformCredentials(
                serviceAccount: try account(simulator), endpoint: simulator.url, trustRootsPEM: simulator.trustRootPEM)
            try await TestProvider.with(kind, credentials, deadline: deadline, change: change) {
                try await body(simulator, $0)
            }
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    private static let sentAt = Instant(milliseconds: 1_700_000_000_000)

    private static let rows: [(answer: ScriptedAnswer?, expected: Outcome)] = [
        (nil, .accepted), (ScriptedAnswer("UNREGISTERED"), .gone(since: sentAt)),
        (ScriptedAnswer("INVALID_ARGUMENT"), .refused(.badToken)),
        (ScriptedAnswer("INVALID_ARGUMENT_ELSEWHERE"), .refused(.other)),
        (ScriptedAnswer("SENDER_ID_MISMATCH"), .refused(.tokenOfAnotherApplication)),
        (ScriptedAnswer("THIRD_PARTY_AUTH_ERROR"), .refused(.forbidden)),
        (ScriptedAnswer("QUOTA_EXCEEDED", retryAfter: "30"), .throttled(retryAfter: .seconds(30))),
        (ScriptedAnswer("QUOTA_EXCEEDED"), .throttled(retryAfter: .seconds(60))),
        (
            ScriptedAnswer(status: 429, body: #"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#),
            .throttled(retryAfter: .seconds(60))
        ),
        (ScriptedAnswer("UNAVAILABLE", retryAfter: "7"), .failed(retryAfter: .seconds(7))),
        (ScriptedAnswer("INTERNAL"), .failed(retryAfter: nil)),
        (ScriptedAnswer("UNSPECIFIED_ERROR"), .failed(retryAfter: nil)),
        (ScriptedAnswer("BAD_GATEWAY"), .failed(retryAfter: nil)),
        (ScriptedAnswer("PERMISSION_DENIED"), .credentialsRefused("FCM answered 403 PERMISSION_DENIED")),
        (ScriptedAnswer("UNAUTHENTICATED"), .credentialsRefused("FCM answered 401 UNAUTHENTICATED")),
        (ScriptedAnswer("NOT_FOUND"), .credentialsRefused("FCM answered 404 NOT_FOUND")),
        (
            ScriptedAnswer(status: 401, body: #"{"error":{"details":[{"errorCode":"APNS_AUTH_ERROR"}]}}"#),
            .refused(.forbidden)
        ),
        (ScriptedAnswer(status: 400, body: "<p>"), .refused(.other)), (ScriptedAnswer(status: 418), .refused(.other)),
        (ScriptedAnswer(status: 429, retryAfter: "8"), .throttled(retryAfter: .seconds(8))),
        (
            ScriptedAnswer(status: 403, body: #"{"error":{"status":"BRAND_NEW"}}"#),
            .credentialsRefused("FCM answered 403 BRAND_NEW")
        ),
        (ScriptedAnswer(status: 504), .failed(retryAfter: nil)),
        (ScriptedAnswer(status: 503, retryAfter: "Wed, 21 Oct 2015 07:28:00 GMT"), .failed(retryAfter: .zero)),
    ]

    @Test func `each answer has its outcome and affects one device`() async throws {
        try await Self.with { simulator, fixture in
            let tokens = Self.rows.indices.map { "token-\($0)" }
            for (token, row) in zip(tokens, Self.rows) {
                if let answer = row.answer { simulator.script.answer(answer, for: [token]) }
            }
            let outcomes = await fixture.send(tokens)
            #expect(outcomes == Self.rows.map(\.expected))
            #expect(simulator.ledger.totals().accepted == 1)
        }
    }

    @Test func `a batch with one token arrives as intended`() async throws {
        try await Self.with { simulator, fixture in
            let tokens = (0..<500).map { "token-\($0)" }
            let content = Push.Content(
                body: "Fresh bread", custom: ["android": .object(["n": .integer(7), "collapse_key": .string("oven")])])
            let outcomes = await fixture.send(tokens, content: content, expiresIn: .seconds(90))
            #expect(outcomes == Array(repeating: .accepted, count: 500))
            #expect(simulator.service.accessTokens.issued == 1)
            let payload = try #require(simulator.ledger.token(Array("token-499".utf8))?.lastRequest?.payload)
            #expect(
                payload == #"{"message":{"token":"token-499","android":{"collapse_key":"oven","notification":{"tag":"#
                    + #""00000000-0000-0003-0000-000000000001"},"priority":"HIGH","ttl":"90s"},"data":{"message":"#
                    + #""Fresh bread","n":"7","receiptId":"00000000-0000-0003-0000-000000000001"},"#
                    + #""notification":{"body":"Fresh bread"}}}"#)
        }
    }

    @Test func `an update has the tag of its first push`() async throws {
        try await Self.with { simulator, fixture in
            let first = UUID()
            let content = Push.Content(body: "Fresh bread").following(receipt: first)
            #expect(await fixture.send(["t"], content: content) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(payload.contains(#""notification":{"tag":"\#(first.lowercased)"}"#), "\(payload)")
            #expect(!payload.contains("collapse_key") && payload.contains(#""belfry.replaces":"\#(first.lowercased)""#))
        }
    }

    @Test func `a word to the SDK goes as data alone`() async throws {
        try await Self.with { simulator, fixture in
            #expect(await fixture.send(["t"], content: .geofenceUpdate) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(!payload.contains("notification"))
            #expect(payload.contains(#""pivotal.push.geofence_update_available":"true""#))
        }
    }

    /// The PCF SDKs of GCM's time get their `Bundle` only when there is nothing for the system to show.
    @Test func `an app of type android gets everything as data alone`() async throws {
        try await Self.with(.android) { simulator, fixture in
            #expect(await fixture.send(["t"], content: Push.Content(body: "Fresh bread")) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(!payload.contains("notification") && payload.contains(#""priority":"HIGH""#))
            #expect(payload.contains(#""message":"Fresh bread""#) && payload.contains(#""receiptId":"#))
        }
    }

    @Test func `Apple's devices get their payload by way of FCM`() async throws {
        try await Self.with(.iosFCM) { simulator, fixture in
            var content = Push.Content(
                body: "Fresh bread", shared: SharedFields([.title: "Dairy", .collapseKey: "oven"]))
            content.badge = .set(2)
            #expect(await fixture.send(["t"], content: content, expiresIn: .seconds(90)) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(
                payload == #"{"message":{"token":"t","apns":{"headers":{"apns-collapse-id":"oven","apns-expiration":"#
                    + #""1700000090","apns-priority":"10","apns-push-type":"alert"},"payload":{"aps":{"alert":"#
                    + #"{"body":"Fresh bread","title":"Dairy"},"badge":2},"#
                    + #""receiptId":"00000000-0000-0003-0000-000000000001"}}}}"#)
            let hidden = Push.Content.silent(["n": .integer(1)])
            #expect(await fixture.send(["t"], content: hidden) == [.accepted])
            let data = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(data.contains(#""apns-priority":"5","apns-push-type":"background""#), "\(data)")
        }
    }

    @Test func `browsers get a notification, their workers data`() async throws {
        try await Self.with(.webFCM) { simulator, fixture in
            let shared = SharedFields(
                [.title: "Dairy", .link: "https://example.org/cheese"], data: ["n": .integer(7)])
            let content = Push.Content(body: "Fresh cheese", shared: shared)
            #expect(await fixture.send(["t"], content: content, expiresIn: .seconds(90)) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(
                payload
                    == #"{"message":{"token":"t","data":{"n":"7","receiptId":"00000000-0000-0003-0000-000000000001"},"#
                    + #""webpush":{"fcm_options":{"link":"https://example.org/cheese"},"headers":{"TTL":"90","Topic":"#
                    + #""AAAAAAAAAAMAAAAAAAAAAQ","Urgency":"normal"},"notification":{"body":"#
                    + #""Fresh cheese","tag":"00000000-0000-0003-0000-000000000001","title":"Dairy"}}}}"#)
            let own = Push.Content(body: "b", custom: ["web": .object(["m": .object(["a": .integer(1)])])])
            #expect(await fixture.send(["t"], content: own) == [.accepted])
            let data = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(!data.contains("notification") && data.contains(#""m":"{\"a\":1}""#), "\(data)")
            let web = #"{"title":"Goal","navigate":"/games/7","data":{"game":7},"app_badge":3}"#
            let goal = Push.Content(body: "b", web: try WebMessage(try JSONValue(json: web.utf8)))
            let shop = Push.Content(body: "b", shared: SharedFields([.title: "t", .link: "shop://a"]))
            let texts = [#""app_badge":"3","game":"7","link":"/games/7""#, #""link":"shop://a""#]
            for (content, text) in zip([goal, shop], texts) {
                #expect(await fixture.send(["t"], content: content) == [.accepted])
                let sent = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
                #expect(sent.contains(#""data":{\#(text),"receiptId":"#) && !sent.contains("fcm_options"), "\(sent)")
            }
            let typed = Push.Content(body: "b", shared: SharedFields([.title: "t", .link: "Https://example.org/A"]))
            #expect(await fixture.send(["t"], content: typed) == [.accepted])
            let sent = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(sent.contains(#""fcm_options":{"link":"https://example.org/A"}"#), "\(sent)")
        }
    }

    @Test func `topics and conditions get one message each`() async throws {
        try await Self.with(.fcmTopic) { simulator, fixture in
            let content = Push.Content(body: "Fresh bread", shared: SharedFields([:], data: ["n": .integer(7)]))
            let condition = "'a' in topics && !('b' in topics)"
            let outcomes = await fixture.send(["/topics/news", condition, "no topic"], content: content)
            #expect(outcomes == [.accepted, .accepted, .refused(.badToken)])
            let payload = try #require(simulator.ledger.token(Array("/topics/news".utf8))?.lastRequest?.payload)
            #expect(
                payload == #"{"message":{"topic":"news","android":{"priority":"HIGH"},"data":{"n":"7"},"notification":"#
                    + #"{"body":"Fresh bread"}}}"#)
            #expect(simulator.ledger.token(Array("condition:\(condition)".utf8))?.lastRequest != nil)
            let own: JSONObject = ["priority": .string("normal"), "title": .string("Dairy"), "story": .integer(17)]
            let more = Push.Content(body: "Fresh bread", custom: ["android": .object(own)])
            #expect(await fixture.send(["/topics/news"], content: more) == [.accepted])
            let data = try #require(simulator.ledger.token(Array("/topics/news".utf8))?.lastRequest?.payload)
            #expect(data.contains(#""story":"17""#) && data.contains(#""title":"Dairy""#), "\(data)")
            #expect(!data.contains(#""message":"Fresh"#) && !data.contains(#""priority":"normal""#), "\(data)")
            let shared = SharedFields([.title: "T", .link: "shop://a", .thread: "town"])
            let linked = Push.Content(body: "b", shared: shared)
            #expect(await fixture.send(["/topics/news"], content: linked) == [.accepted])
            let sent = try #require(simulator.ledger.token(Array("/topics/news".utf8))?.lastRequest?.payload)
            #expect(sent.contains(#""data":{"link":"shop://a","thread":"town"},"notification""#), "\(sent)")
        }
    }

    @Test(arguments: [PlatformKind.iosFCM, .webFCM])
    func `a project without its other key parks`(kind: PlatformKind) async throws {
        try await Self.with(kind) { simulator, fixture in
            simulator.script.answer(ScriptedAnswer("THIRD_PARTY_AUTH_ERROR"), for: ["t"])
            guard case .credentialsRefused(let words, _, _)? = await fixture.send(["t"]).first else {
                Issue.record("it goes on")
                return
            }
            #expect(words.contains("key in the Firebase project is missing or wrong"), "\(words)")
            #expect(fixture.provider.isProvenByAcceptanceAlone)
            #expect(await fixture.provider.test() == .works)
            #expect(await fixture.provider.refusesCredentials() == nil)
            simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer("PERMISSION_DENIED"))))
            #expect(await fixture.provider.refusesCredentials() == true)
        }
    }

    @Test func `an installation is addressed by ID, a dead one gone`() async throws {
        try await Self.with { simulator, fixture in
            let (alive, dead) = ("fEk9VyTYRuq8_J-Pz3Hl0a", "cEk9VyTYRuq8_J-Pz3Hl0b")
            simulator.script.answer(ScriptedAnswer("UNREGISTERED"), for: [dead])
            #expect(await fixture.send([alive, dead]) == [.accepted, .gone(since: Self.sentAt)])
            let payload = try #require(simulator.ledger.token(Array(alive.utf8))?.lastRequest?.payload)
            #expect(payload.hasPrefix(#"{"message":{"fid":"\#(alive)","#))
        }
    }

    @Test func `an operator may leave the receipt id out`() async throws {
        try await Self.with(change: { $0.sendsAndroidReceiptID = false }) { simulator, fixture in
            #expect(await fixture.send(["t"]) == [.accepted])
            let payload = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
            #expect(!payload.contains("receiptId"))
        }
    }

    @Test func `a token ending early is replaced once without loss`() async throws {
        try await Self.with { simulator, fixture in
            #expect(await fixture.send(["a"]) == [.accepted])
            simulator.service.accessTokens.expireAll()
            #expect(await fixture.send(["b", "c", "d"]) == [.accepted, .accepted, .accepted])
            #expect(simulator.service.accessTokens.issued == 2)
        }
    }

    @Test func `streams that were not processed are sent again`() async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(when: .init(token: "b"), times: 1, then: .reset()))
            #expect(await fixture.send(["a", "b", "c"]) == [.accepted, .accepted, .accepted])
            #expect(simulator.ledger.totals().told == 3)
        }
    }

    @Test func `a connection that dies with the request leaves it unanswered`() async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(when: .init(token: "a"), times: 1, then: .close(told: true)))
            #expect(await fixture.send(["a"]) == [.unanswered])
            #expect(await fixture.send(["b"]) == [.accepted])
        }
    }

    @Test func `the quota's end is waited for, and nothing leaves meanwhile`() async throws {
        try await Self.with(simulate: { $0.messagesPerMinute = 10 }) { simulator, fixture in
            let outcomes = await fixture.send((0..<40).map { "t\($0)" })
            let taken = outcomes.filter { $0 == .accepted }
            #expect(taken.count == 10)
            let waits = outcomes.compactMap { if case .throttled(let wait?, _) = $0 { wait } else { nil } }
            #expect(waits.count == 30 && waits.allSatisfy { .seconds(1)...Duration.seconds(60) ~= $0 })
            #expect(fixture.provider.room == 0)
            guard case .throttled? = await fixture.send(["later"]).first else {
                Issue.record("it was sent")
                return
            }
            #expect(simulator.ledger.token(Array("later".utf8)) == nil)
        }
    }

    @Test func `the rest of a batch over the project's rate waits`() async throws {
        try await Self.with(change: { $0.fcm.messagesPerMinute = 5 }) { simulator, fixture in
            let outcomes = await fixture.send((0..<100).map { "t\($0)" })
            #expect(outcomes.first == .accepted)
            let waits = outcomes.compactMap { if case .throttled(let wait?, _) = $0 { wait } else { nil } }
            #expect(waits.count == 99 && waits.allSatisfy { .zero...Duration.seconds(13) ~= $0 })
            #expect(simulator.ledger.totals().told == 1)
        }
    }

    @Test func `credentials are tried without a word to a device`() async throws {
        try await Self.with { simulator, fixture in
            #expect(await fixture.provider.test() == .works)
            #expect(await fixture.credentialsService.test(fixture.platform, devices: []) == .works)
            #expect(simulator.ledger.totals().told == 0)
        }
        // Where there are connections still, a test goes on until its deadline.
        try await Self.with(deadline: .seconds(3)) { simulator, fixture in
            _ = await fixture.provider.test()
            try await simulator.stopListening()
            guard case .unknown = await fixture.credentialsService.test(fixture.platform, devices: []) else {
                Issue.record("no credentials could be tried")
                return
            }
        }
    }

    @Test(arguments: [
        (ScriptedAnswer(status: 400, body: #"{"error":"invalid_grant"}"#), true), (ScriptedAnswer(status: 403), true),
        (ScriptedAnswer(status: 408), false), (ScriptedAnswer(status: 429, retryAfter: "9"), false),
        (ScriptedAnswer(status: 500), false), (ScriptedAnswer(status: 200, body: "{}"), false),
    ])
    func `a refusing token server parks; a troubled one fails`(
        answer: ScriptedAnswer, isRefusal: Bool
    ) async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(when: .init(path: "/token"), then: .answer(answer)))
            switch await fixture.send(["a"]).first {
            case .credentialsRefused?: #expect(isRefusal)
            case .failed(let wait, _)?:
                #expect(!isRefusal)
                #expect(wait == (answer.retryAfter == nil ? nil : .seconds(9)))
            case let other: Issue.record("\(String(describing: other))")
            }
            #expect(simulator.ledger.totals().told == 0)
        }
    }

    @Test func `a key that Google does not know parks the platform`() async throws {
        let stranger = try ServiceAccount(projectID: "belfry-simulated", ownKey: true)
        try await Self.with(account: { stranger.json(tokenURL: "\($0.url)/token") }) { simulator, fixture in
            let outcomes = await fixture.send(["a", "b"])
            for outcome in outcomes {
                guard case .credentialsRefused(let words, _, _) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(words.contains("invalid_grant"))
            }
            guard case .refused = await fixture.provider.test() else {
                Issue.record("it works")
                return
            }
            #expect(simulator.ledger.totals().told == 0)
        }
    }

    @Test func `a refused handshake parks; a closed port fails`() async throws {
        try await Self.with { simulator, fixture in
            try await simulator.stopListening()
            let outcomes = await fixture.send(["a"])
            #expect(outcomes.first?.connectionFault?.kind == .connect, "\(outcomes)")
        }
        let stranger = try CertificateAuthority()
        let simulator = try await FCMSimulator.start()
        let credentials = FCMPlatformCredentials(
            serviceAccount: simulator.serviceAccountJSON, endpoint: simulator.url,
            trustRootsPEM: stranger.certificatePEM)
        try await TestProvider.with(.androidFCM, credentials) { fixture in
            guard case .credentialsRefused(let words, _, _)? = await fixture.send(["a"]).first else {
                Issue.record("it trusts a stranger")
                return
            }
            #expect(words.contains("certificate is not trusted"), "\(words)")
            let test = await fixture.credentialsService.test(fixture.platform, devices: [])
            #expect(test.name == "refused" && test.detail?.contains("certificate is not trusted") == true, "\(test)")
        }
        try await simulator.shutdown()
    }
}
