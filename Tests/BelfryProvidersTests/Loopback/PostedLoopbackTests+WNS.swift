import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    private func wns(_ simulator: WNSSimulator, secret: String = WNSConfiguration().store.clientSecret) -> [String:
        String]
    {
        [
            "package_sid": WNSConfiguration().store.clientID, "client_secret": secret,
            "token_url": simulator.storeTokenURL, "domain": "localhost", "trust_root": simulator.trustRootPEM,
        ]
    }

    private func entra(_ simulator: WNSSimulator) -> [String: String] {
        let own = WNSConfiguration()
        return [
            "tenant_id": own.tenantID, "client_id": own.entra.clientID, "client_secret": own.entra.clientSecret,
            "token_url": simulator.entraTokenURL, "domain": "localhost", "trust_root": simulator.trustRootPEM,
        ]
    }

    @Test func `each answer of WNS`() async throws {
        try await TestProviders.run { providers in
            try await with(WNSSimulator.self, configured(WNSConfiguration())) { simulator in
                let gone = Outcome.gone(since: providers.clock.now)
                let rows: [Row] = [
                    (ScriptedAnswer("dropped"), .refused(.dropped)),
                    (ScriptedAnswer("channelthrottled"), .throttled(retryAfter: .seconds(600))),
                    (ScriptedAnswer("BadRequest"), .refused(.other)),
                    (ScriptedAnswer("Unauthorized"), .credentialsRefused("WNS refuses the access token: Unauthorized")),
                    (ScriptedAnswer("Forbidden"), .refused(.tokenOfAnotherApplication)),
                    (ScriptedAnswer("NotFound"), gone), (ScriptedAnswer("Gone"), gone),
                    (ScriptedAnswer("DomainBlocked"), .credentialsRefused("WNS blocks this app: Domain Blocked")),
                    (ScriptedAnswer("MethodNotAllowed"), .refused(.methodNotAllowed)),
                    (ScriptedAnswer("Throttled", retryAfter: "30"), .throttled(retryAfter: .seconds(30))),
                    (ScriptedAnswer("Unreachable"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("TooLarge"), .refused(.payloadTooLarge)),
                    (ScriptedAnswer("QuotaExceeded"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("InternalServerError"), .failed(retryAfter: nil)),
                    (ScriptedAnswer("ServiceUnavailable", retryAfter: "5"), .failed(retryAfter: .seconds(5))),
                    (ScriptedAnswer(status: 200), .accepted),
                    (ScriptedAnswer("channelthrottled", retryAfter: "90"), .throttled(retryAfter: .seconds(90))),
                    (ScriptedAnswer("Throttled"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("Throttled", retryAfter: "7200"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 418), .refused(.other)),
                ]
                let provider = try providers.provider(.windows8, wns(simulator))
                await check(rows, simulator, providers, provider, providers.push(), address: simulator.channel)
            }
        }
    }

    @Test func `WNS takes every template kind by both tokens`() async throws {
        try await TestProviders.run { providers in
            try await with(WNSSimulator.self, configured(WNSConfiguration())) { simulator in
                let pushes: [JSONValue] = [
                    .object(["type": .string("toast"), "template_name": .string("ToastText01")]),
                    .object([
                        "type": .string("tile"), "template_name": .string("TileSquareText04"),
                        "template_fields": .object(["textField1": .string("a & <b>")]),
                    ]),
                    .object([
                        "type": .string("badge"), "template_name": .string("N/A"),
                        "template_fields": .object(["badge_value_integer": .integer(3)]),
                    ]),
                    .object(["type": .string("raw"), "template_fields": .object(["a": .string("b")])]),
                ]
                for entered in [wns(simulator), entra(simulator)] {
                    let provider = try providers.provider(.windows8, entered)
                    #expect(await provider.test() == .works)
                    for custom in pushes {
                        let push = providers.push(["windows8": custom], lasting: .seconds(600))
                        let outcomes = await providers.send(push, to: [simulator.channel("t")], by: provider)
                        #expect(outcomes == [.accepted], "\(custom)")
                    }
                }
                let wrong = try providers.provider(.windows8, wns(simulator, secret: "wrong"))
                guard case .refused = await wrong.test() else {
                    Issue.record("a wrong secret is refused")
                    return
                }
                let outcomes = await providers.send(providers.push(), to: [simulator.channel("t")], by: wrong)
                guard case .credentialsRefused = outcomes[0] else {
                    Issue.record("\(outcomes)")
                    return
                }
            }
        }
    }

    @Test(
        arguments: [
            ("tile", .milliseconds(500), "1", "cache"), ("raw", .milliseconds(500), "0", "no-cache"),
            ("tile", .seconds(251_606_145_190), "2592000", "cache"),
        ] as [(String, Duration, String, String)])
    func `WNS keeps nothing for no time or for ages`(
        type: String, lasting: Duration, ttl: String, policy: String
    ) async throws {
        try await TestProviders.run { providers in
            try await with(WNSSimulator.self, configured(WNSConfiguration())) { simulator in
                let fields: JSONValue = .object(["textField1": .string("a")])
                let custom: JSONValue = .object([
                    "type": .string(type), "template_name": .string("TileSquareText04"), "template_fields": fields,
                ])
                let push = providers.push(["windows8": custom], lasting: lasting)
                let provider = try providers.provider(.windows8, wns(simulator))
                #expect(await providers.send(push, to: [simulator.channel("t")], by: provider) == [.accepted])
                let sent = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest)
                #expect(sent.header("x-wns-ttl") == ttl && sent.header("x-wns-cache-policy") == policy)
            }
        }
    }

    @Test func `a throttled WNS sender waits as told`() async throws {
        try await TestProviders.run { providers in
            try await with(WNSSimulator.self, configured(WNSConfiguration())) { simulator in
                let provider = try providers.provider(.windows8, wns(simulator))
                let channels = (0..<3).map { simulator.channel("t\($0)") }
                simulator.script.answer(ScriptedAnswer("Unreachable"), for: ["t0", "t1", "t2"])
                _ = await providers.send(providers.push(), to: channels, by: provider)
                #expect(provider.room > 0, "devices that are offline say nothing of the sender")
                simulator.script.answer(ScriptedAnswer("Throttled", retryAfter: "30"), for: ["t0", "t1"])
                _ = await providers.send(providers.push(), to: channels, by: provider)
                #expect(provider.room == 0)
                providers.clock.advance(by: .seconds(30))
                #expect(provider.room > 0)
            }
        }
    }

    @Test func `an access token that WNS has forgotten is fetched anew`() async throws {
        try await TestProviders.run { providers in
            try await with(WNSSimulator.self, WNSConfiguration()) { simulator in
                let provider = try providers.provider(.windows8, wns(simulator))
                let channels = (0..<40).map { simulator.channel("t\($0)") }
                let first = await providers.send(providers.push(), to: channels, by: provider)
                simulator.service.accessTokens.expireAll()
                let second = await providers.send(providers.push(), to: channels, by: provider)
                #expect((first + second).allSatisfy { $0 == .accepted })
                #expect(simulator.service.accessTokens.issued == 2)
            }
        }
    }
}
