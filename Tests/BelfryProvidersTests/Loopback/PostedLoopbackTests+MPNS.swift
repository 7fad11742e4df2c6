import BelfryCore
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    @Test func `each answer of MPNS`() async throws {
        try await PostedStand.run { stand in
            try await with(MPNSSimulator.self, configured(MPNSConfiguration())) { simulator in
                let rows: [Row] = [
                    (ScriptedAnswer("QueueFull"), .throttled(retryAfter: .seconds(240))),
                    (ScriptedAnswer("Suppressed"), .refused(.dropped)),
                    (ScriptedAnswer("BadRequest"), .refused(.other)),
                    (ScriptedAnswer("Unauthorized"), .refused(.forbidden)),
                    (ScriptedAnswer("Forbidden"), .barred("MPNS refuses the certificate")),
                    (ScriptedAnswer("Expired"), .gone(since: stand.clock.now)),
                    (ScriptedAnswer(status: 404), .refused(.badToken)),
                    (ScriptedAnswer("MethodNotAllowed"), .refused(.methodNotAllowed)),
                    (ScriptedAnswer("Throttled"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("InActive"), .throttled(retryAfter: .seconds(3_660))),
                    (ScriptedAnswer("ServiceUnavailable"), .failed(retryAfter: nil)),
                ]
                let provider = try stand.provider(
                    .windowsPhone, ["domain": "localhost", "trust_root": simulator.trustRootPEM])
                await check(
                    rows, simulator, stand, provider, stand.push(lasting: .seconds(500)), address: simulator.channel)
                let told = simulator.ledger.token(Array("d\(rows.count)".utf8))
                #expect(told?.lastRequest?.header("x-notificationclass") == "12")
                for template in ["toast", "tile", "flipTile", "cycleTile", "iconicTile", "raw"] {
                    let push = stand.push(["windowsPhone": .object(["template": .string(template)])])
                    let outcomes = await stand.send(push, to: [simulator.channel("t")], by: provider)
                    #expect(outcomes == [.accepted], "\(template)")
                }
            }
        }
    }
}
