import BelfryService
import BelfrySimulators
import Testing

@testable import BelfryProviders

/// Every row of the table of gcm/send in docs/Providers.md, over TLS, against the simulator.
@Suite struct GCMLoopbackTests {
    private static func with(
        key: String? = nil, path: String = "/gcm/send", _ body: (GCMSimulator, TestProvider) async throws -> Void
    ) async throws {
        var configuration = GCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await GCMSimulator.start(configuration)
        do {
            let credentials = GCMPlatformCredentials(
                key: key ?? configuration.serverKey, endpoint: simulator.url + path,
                trustRootsPEM: simulator.trustRootPEM)
            try await TestProvider.with(.android, AndroidPlatformCredentials.gcm(credentials)) {
                try await body(simulator, $0)
            }
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    private static let rows: [(reason: String?, expected: Outcome)] = [
        (nil, .accepted), ("NotRegistered", .gone(since: Instant(milliseconds: 1_700_000_000_000))),
        ("InvalidRegistration", .refused(.badToken)), ("MismatchSenderId", .refused(.tokenOfAnotherApplication)),
        ("MissingRegistration", .refused(.missingToken)), ("MessageTooBig", .refused(.payloadTooLarge)),
        ("InvalidDataKey", .refused(.other)), ("InvalidTtl", .refused(.badExpiration)),
        ("InvalidPackageName", .refused(.other)), ("InvalidParameters", .refused(.other)),
        ("InvalidApnsCredential", .refused(.forbidden)), ("Unavailable", .failed(retryAfter: nil)),
        ("InternalServerError", .failed(retryAfter: nil)),
        ("DeviceMessageRateExceeded", .throttled(retryAfter: .seconds(60))),
        ("TopicsMessageRateExceeded", .throttled(retryAfter: .seconds(60))),
        ("Canonical", .moved(to: DeviceToken(bytes: Array("new".utf8)))),
    ]

    @Test func `each result has its outcome in batch order`() async throws {
        try await Self.with { simulator, fixture in
            let tokens = Self.rows.indices.map { "token-\($0)" }
            for (token, row) in zip(tokens, Self.rows) {
                if let reason = row.reason {
                    simulator.script.answer(ScriptedAnswer(reason, body: "new"), for: [token])
                }
            }
            #expect(await fixture.send(tokens, expiresIn: .seconds(60)) == Self.rows.map(\.expected))
            let payload = try #require(simulator.ledger.token(Array("token-0".utf8))?.lastRequest?.payload)
            #expect(payload.contains(#""time_to_live":60"#) && payload.contains(#""message":"hello""#))
        }
    }

    @Test func `a batch beyond a thousand devices goes in parts`() async throws {
        try await Self.with { simulator, fixture in
            let outcomes = await fixture.send((0..<1_500).map { "t\($0)" })
            #expect(outcomes == Array(repeating: .accepted, count: 1_500))
            #expect(simulator.ledger.totals().told == 1_500)
        }
    }

    @Test(arguments: [
        (ScriptedAnswer("BadRequest"), Outcome.refused(.other)),
        (ScriptedAnswer("NotFound"), .credentialsRefused("GCM answered 404", by: .request)),
        (ScriptedAnswer(status: 302), .credentialsRefused("GCM answered 302", by: .request)),
        (ScriptedAnswer("Unavailable", retryAfter: "9"), .failed(retryAfter: .seconds(9))),
        (ScriptedAnswer("InternalServerError"), .failed(retryAfter: nil)),
        (ScriptedAnswer(status: 429, retryAfter: "9"), .throttled(retryAfter: .seconds(9))),
        (ScriptedAnswer(status: 413), .refused(.payloadTooLarge)),
        (ScriptedAnswer(status: 401), .credentialsRefused("GCM answered 401", by: .request)),
        (ScriptedAnswer(status: 403), .credentialsRefused("GCM answered 403", by: .request)),
        (ScriptedAnswer(status: 418), .refused(.other)),
        (ScriptedAnswer(status: 200, body: "{}"), .unanswered),
    ])
    func `a refused request is refused for all its devices`(answer: ScriptedAnswer, expected: Outcome) async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(then: .answer(answer)))
            #expect(await fixture.send(["a", "b"]) == [expected, expected])
        }
    }

    @Test func `a wrong key parks and is found without devices`() async throws {
        try await Self.with(key: "AIzaWrong") { simulator, fixture in
            #expect(await fixture.send(["a"]) == [.credentialsRefused("GCM answered 401", by: .request)])
            #expect(await fixture.provider.test() == .refused("GCM answered 401"))
        }
        try await Self.with { simulator, fixture in
            #expect(await fixture.provider.test() == .works)
            #expect(simulator.ledger.totals().told == 0)
        }
    }

    @Test func `silence leaves a batch unanswered; a closed port fails`() async throws {
        try await Self.with { simulator, fixture in
            simulator.script.add(ServiceFault(times: 1, then: .close(told: true)))
            #expect(await fixture.send(["a"]) == [.unanswered])
        }
        try await Self.with { simulator, fixture in
            try await simulator.stopListening()
            let outcomes = await fixture.send(["a"])
            #expect(outcomes.first?.connectionFault?.kind == .connect, "\(outcomes)")
        }
    }
}
