import Crypto
import Testing

@testable import BelfrySimulators

/// The push service: RFC 8030 and RFC 8292, with messages and signatures made by others.
@Suite(.timeLimit(.minutes(20))) struct WebPushTests {
    typealias TestSimulator = TestService<WebPushService>
    private static let now = BelfrySimulatorsTests.TestSimulator.now

    /// One message for a subscription, encrypted and signed by the oracle.
    struct Letter {
        var body: [UInt8]
        var authorization: String

        static func write(
            _ fixture: TestSimulator, to subscription: WebPushSubscription, _ changes: [String: String] = [:]
        ) async throws -> Letter {
            let vapid = [
                "do": "vapid", "audience": fixture.simulator.url, "expires": "\(now + 3600)",
                "subject": "mailto:a@example.org",
            ]
            let answers = try await Oracle.ask([
                [
                    "do": "encrypt", "plaintext": Base64URL.encode("hello".utf8), "p256dh": subscription.p256dh,
                    "auth": subscription.auth,
                ], vapid.merging(changes) { $1 },
            ])
            return Letter(
                body: Base64URL.decode(Substring(answers.first?["body"]?.string ?? "")) ?? [],
                authorization: answers.last?["authorization"]?.string ?? "")
        }

        func fields(_ changes: [String: String?] = [:]) -> [(String, String)] {
            var fields: [String: String?] = [
                "ttl": "60", "content-encoding": "aes128gcm", "content-type": "application/octet-stream",
                "authorization": authorization,
            ]
            fields.merge(changes) { $1 }
            return fields.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 }
        }
    }

    @Test(arguments: ["--http2", "--http1.1"])
    func `a message by others is taken, opened and told`(http: String) async throws {
        try await TestSimulator.with { fixture in
            let subscription = fixture.simulator.subscribe()
            let letter = try await Letter.write(fixture, to: subscription)
            let answer = try await fixture.curl.send(
                "POST", subscription.endpoint, letter.fields(["urgency": "high", "topic": "a_B-9"]), letter.body, [http]
            )
            #expect(answer.status == 201)
            #expect(answer.fields["location"]?.hasPrefix("\(fixture.simulator.url)/m/") == true)
            #expect(answer.fields["ttl"] == "60")
            let told = try #require(fixture.simulator.ledger.token(Array(subscription.id.utf8)))
            #expect(told.told == 1)
            #expect(told.lastStatus == 201)
            #expect(told.lastRequest?.payload == "hello")
            #expect(told.lastRequest?.header("urgency") == "high")
            #expect(fixture.simulator.ledger.totals().accepted == 1)
        }
    }

    @Test func `pywebpush pushes as it does to browsers`() async throws {
        try await TestSimulator.with { fixture in
            let subscription = fixture.simulator.subscribe()
            let answers = try await Oracle.ask([
                [
                    "do": "push", "endpoint": subscription.endpoint, "p256dh": subscription.p256dh,
                    "auth": subscription.auth, "plaintext": Base64URL.encode("from Python".utf8),
                    "subject": "mailto:a@example.org", "expires": "\(Self.now + 3600)", "ca": fixture.curl.trustFile,
                ]
            ])
            #expect(answers.first?["status"]?.integer == 201)
            let told = fixture.simulator.ledger.token(Array(subscription.id.utf8))
            #expect(told?.lastRequest?.payload == "from Python")
        }
    }

    @Test(
        arguments: [
            (["ttl": nil], 400, "MissingTTL"), (["ttl": "-1"], 400, "BadTTL"), (["ttl": "1.5"], 400, "BadTTL"),
            (["urgency": "urgent"], 400, "BadUrgency"), (["topic": "a.b"], 400, "BadTopic"),
            (["topic": String(repeating: "x", count: 33)], 400, "BadTopic"),
            (["content-encoding": "aesgcm"], 400, "BadEncoding"), (["content-encoding": nil], 400, "BadEncoding"),
            (["authorization": nil], 401, "MissingAuthorization"),
            (["authorization": "Bearer x"], 401, "MissingAuthorization"),
            (["authorization": "vapid t=x, k=y"], 403, "BadVAPID"),
        ] as [([String: String?], Int, String)])
    func `a message with a wrong field is refused`(
        changes: [String: String?], status: Int, reason: String
    ) async throws {
        try await TestSimulator.with { fixture in
            let subscription = fixture.simulator.subscribe()
            let letter = try await Letter.write(fixture, to: subscription)
            let answer = try await fixture.curl.send(
                "POST", subscription.endpoint, letter.fields(changes), letter.body)
            #expect(answer.status == status)
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 1])
        }
    }

    @Test(arguments: [
        ["audience": "https://example.org"], ["expires": "\(now + 86_401)"], ["expires": "\(now - 1)"],
        ["subject": "mailto:<a@example.org>"],
    ])
    func `a VAPID token with a wrong claim is refused`(changes: [String: String]) async throws {
        try await TestSimulator.with { fixture in
            let subscription = fixture.simulator.subscribe()
            let letter = try await Letter.write(fixture, to: subscription, changes)
            let answer = try await fixture.curl.send("POST", subscription.endpoint, letter.fields(), letter.body)
            #expect(answer.status == 403)
            #expect(fixture.simulator.ledger.totals().byReason == ["BadVAPID": 1])
        }
    }

    @Test func `a restricted subscription takes messages from its own key alone`() async throws {
        try await TestSimulator.with { fixture in
            let keys = try await Oracle.ask(
                ["AQ", "Ag"].map {
                    [
                        "do": "vapid", "private": $0, "audience": fixture.simulator.url, "expires": "\(Self.now + 60)",
                        "subject": "mailto:a@example.org",
                    ]
                })
            let own = try #require(keys.first?["key"]?.string)
            let subscription = fixture.simulator.subscribe(applicationServerKey: own)
            let letter = try await Letter.write(fixture, to: subscription)
            for (key, status) in zip(keys, [201, 403]) {
                let fields = letter.fields(["authorization": key["authorization"]?.string])
                let answer = try await fixture.curl.send("POST", subscription.endpoint, fields, letter.body)
                #expect(answer.status == status)
            }
        }
    }

    @Test func `a message for another receiver cannot be read`() async throws {
        try await TestSimulator.with { fixture in
            let subscriptions = fixture.simulator.subscribe(2)
            let letter = try await Letter.write(fixture, to: subscriptions[0])
            let answer = try await fixture.curl.send("POST", subscriptions[1].endpoint, letter.fields(), letter.body)
            #expect(answer.status == 400)
            #expect(fixture.simulator.ledger.totals().byReason == ["Undecryptable": 1])
        }
    }

    @Test func `up to 4,096 bytes are taken; unknown endpoints are 404`() async throws {
        try await TestSimulator.with({ $0.refusesUndecryptable = false }) { fixture in
            let subscription = fixture.simulator.subscribe()
            let letter = try await Letter.write(fixture, to: subscription)
            let zeros = [UInt8](repeating: 0, count: 4097)
            let url = subscription.endpoint
            #expect(try await fixture.curl.send("POST", url, letter.fields(), Array(zeros.dropLast())).status == 201)
            #expect(try await fixture.curl.send("POST", url, letter.fields(), zeros).status == 413)
            #expect(try await fixture.curl.send("POST", url, letter.fields(["content-encoding": nil])).status == 201)
            let stranger = "\(fixture.simulator.url)/wp/s99"
            #expect(try await fixture.curl.send("POST", stranger, letter.fields(), letter.body).status == 404)
            #expect(try await fixture.curl.send("GET", url, letter.fields()).status == 405)
        }
    }

    @Test(arguments: [
        (WebPushDialect.plain, "Gone", 410, ""), (.plain, "NotFound", 404, ""), (.plain, "TooMany", 429, ""),
        (.plain, "ServiceUnavailable", 503, ""),
        (.mozilla, "Gone", 410, #""errno":106"#), (.mozilla, "KeyMismatch", 401, #""errno":109"#),
        (.google, "KeyMismatch", 403, "do not correspond"), (.apple, "BadVAPID", 403, #"{"reason":"BadJwtToken"}"#),
        (.apple, "KeyMismatch", 400, #"{"reason":"VapidPkHashMismatch"}"#), (.microsoft, "Throttled", 406, ""),
    ])
    func `a scripted subscription is answered in its service's words`(
        dialect: WebPushDialect, reason: String, status: Int, text: String
    ) async throws {
        try await TestSimulator.with({ $0.dialect = dialect }) { fixture in
            let subscription = fixture.simulator.subscribe()
            fixture.simulator.script.answer(ScriptedAnswer(reason, retryAfter: "9"), for: [subscription.id])
            let letter = try await Letter.write(fixture, to: subscription)
            let fields = letter.fields(["x-wns-cache-policy": "cache"])
            let answer = try await fixture.curl.send("POST", subscription.endpoint, fields, letter.body)
            #expect(answer.status == status)
            #expect(answer.body.contains(text))
            #expect(answer.fields["retry-after"] == "9")
            if dialect == .microsoft { #expect(answer.fields["x-wns-status"] == "channelthrottled") }
        }
    }

    @Test func `Microsoft wants a TTL that fits the cache policy`() async throws {
        try await TestSimulator.with({ $0.dialect = .microsoft }) { fixture in
            let subscription = fixture.simulator.subscribe()
            let letter = try await Letter.write(fixture, to: subscription)
            for (ttl, policy, status) in [("0", nil, 400), ("0", "no-cache", 201), ("60", nil, 201)] {
                let fields = letter.fields(["ttl": ttl, "x-wns-cache-policy": policy])
                let answer = try await fixture.curl.send("POST", subscription.endpoint, fields, letter.body)
                #expect(answer.status == status)
            }
        }
    }
}
