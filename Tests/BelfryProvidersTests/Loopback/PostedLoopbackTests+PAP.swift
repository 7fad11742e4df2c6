import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    @Test func `each code of the push gateway`() async throws {
        try await TestProviders.run { providers in
            try await with(PAPSimulator.self, configured(PAPConfiguration())) { simulator in
                let gone = Outcome.gone(since: providers.clock.now)
                let accepted = ["1000", "1001", "1500", "2007"].map { (ScriptedAnswer($0), Outcome.accepted) }
                let failed = ["3000", "3007", "4000", "4001", "23000"].map {
                    (ScriptedAnswer($0), Outcome.failed(retryAfter: nil))
                }
                let day: Int64 = 86_400_000
                let tomorrow = Outcome.throttled(
                    retryAfter: .milliseconds(day - providers.clock.now.milliseconds % day))
                let rows: [Row] =
                    accepted + failed + [
                        (ScriptedAnswer("2000"), .refused(.other)), (ScriptedAnswer("2001"), .refused(.badToken)),
                        (ScriptedAnswer("2002"), gone), (ScriptedAnswer("4502"), gone), (ScriptedAnswer("22002"), gone),
                        (ScriptedAnswer("2500"), tomorrow), (ScriptedAnswer("22005"), tomorrow),
                        (ScriptedAnswer("4500"), .refused(.badExpiration)), (ScriptedAnswer("4501"), .refused(.other)),
                        (ScriptedAnswer("4503"), .refused(.forbidden)), (ScriptedAnswer("3001"), .refused(.other)),
                        (ScriptedAnswer("ServiceUnavailable"), .failed(retryAfter: nil)),
                        (
                            ScriptedAnswer(status: 403),
                            .credentialsRefused("the push gateway refuses the application's password")
                        ),
                        (ScriptedAnswer(status: 413), .refused(.payloadTooLarge)),
                        (ScriptedAnswer(status: 429, retryAfter: "8"), .throttled(retryAfter: .seconds(8))),
                        (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                        (ScriptedAnswer(status: 418), .refused(.other)),
                        (ScriptedAnswer(status: 200, body: "<html>"), .unanswered),
                        (ScriptedAnswer("1001", status: 202), .accepted), (ScriptedAnswer("2002", status: 202), gone),
                        (ScriptedAnswer(status: 202, body: "<html>"), .unanswered),
                    ]
                let own = PAPConfiguration()
                var entered = [
                    "application_id": own.applicationID, "password": own.password, "url": simulator.sendURL,
                    "trust_root": simulator.trustRootPEM,
                ]
                let provider = try providers.provider(.bb10, entered)
                let push = providers.push(["bb10": .string("mine")], lasting: .seconds(600))
                await check(rows, simulator, providers, provider, push)
                let told = try #require(simulator.ledger.token(Array("d\(rows.count)".utf8)))
                #expect(told.lastRequest?.payload == "mine")
                let again = await providers.send(push, to: (0...rows.count).map { "d\($0)" }, by: provider)
                #expect(again.last == .accepted)
                #expect(simulator.ledger.token(Array("d\(rows.count)".utf8))?.told == 1)
                entered["password"] = "wrong"
                let wrong = await providers.send(push, to: ["x"], by: try providers.provider(.bb10, entered))
                guard case .credentialsRefused = wrong[0] else {
                    Issue.record("\(wrong)")
                    return
                }
            }
        }
    }
}
