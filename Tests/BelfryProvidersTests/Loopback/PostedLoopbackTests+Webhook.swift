import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    @Test func `each answer of a webhook`() async throws {
        try await TestProviders.run { providers in
            let secret = "a secret of this test, long enough"
            var configuration = configured(WebhookConfiguration())
            configuration.secret = Array(secret.utf8)
            try await with(WebhookSimulator.self, configuration) { simulator in
                let entered = ["url": "\(simulator.url)/hook", "secret": secret, "trust_root": simulator.trustRootPEM]
                let provider = try providers.provider(.webhook, entered)
                let tokens = ["alice", "bob \"the\" other"]
                #expect(await providers.send(providers.push(), to: tokens, by: provider) == [.accepted, .accepted])
                #expect(simulator.ledger.totals().told == 2)
                let rows: [Row] = [
                    (ScriptedAnswer("BadRequest"), .refused(.other)),
                    (ScriptedAnswer("Forbidden"), .credentialsRefused("the webhook answered 403", by: .request)),
                    (ScriptedAnswer("NotFound"), .credentialsRefused("the webhook answered 404", by: .request)),
                    (ScriptedAnswer("Gone"), .credentialsRefused("the webhook answered 410", by: .request)),
                    (ScriptedAnswer(status: 302), .credentialsRefused("the webhook answered 302", by: .request)),
                    (ScriptedAnswer("TooLarge"), .refused(.payloadTooLarge)),
                    (ScriptedAnswer("TooMany", retryAfter: "4"), .throttled(retryAfter: .seconds(4))),
                    (ScriptedAnswer("InternalServerError"), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 200, body: "thanks"), .unanswered),
                    (ScriptedAnswer(status: 204), .accepted), (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 418), .refused(.other)),
                    (ScriptedAnswer("TooMany", retryAfter: "99999"), .throttled(retryAfter: .seconds(3_600))),
                ]
                for row in rows {
                    simulator.script.answer(row.answer, for: ["alice"])
                    let outcomes = await providers.send(providers.push(), to: tokens, by: provider)
                    #expect(outcomes == [row.outcome, row.outcome], "\(row.answer)")
                }
                let own = #"{"outcomes":[{"outcome":"gone"},{"outcome":"retry","retryAfter":6}]}"#
                simulator.script.answer(ScriptedAnswer(status: 200, body: own), for: ["alice"])
                let outcomes = await providers.send(providers.push(), to: tokens, by: provider)
                #expect(outcomes == [.gone(since: providers.clock.now), .failed(retryAfter: .seconds(6))])
                let wrong = try providers.provider(
                    .webhook, entered.merging(["secret": "another secret, as long as it"]) { $1 })
                let refused = await providers.send(providers.push(), to: tokens, by: wrong)
                #expect(refused.allSatisfy { $0 == .credentialsRefused("the webhook answered 401", by: .request) })
            }
        }
    }
}
