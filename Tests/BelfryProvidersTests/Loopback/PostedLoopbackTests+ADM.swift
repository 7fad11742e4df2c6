import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    @Test func `each answer of ADM`() async throws {
        try await TestProviders.run { providers in
            try await with(ADMSimulator.self, configured(ADMConfiguration())) { simulator in
                let rows: [Row] = [
                    (
                        ScriptedAnswer("Replaced", body: "another"),
                        .moved(to: DeviceToken(bytes: Array("another".utf8)))
                    ),
                    (ScriptedAnswer("Unregistered"), .gone(since: providers.clock.now)),
                    (ScriptedAnswer("InvalidRegistrationId"), .refused(.badToken)),
                    (ScriptedAnswer("InvalidData"), .refused(.other)),
                    (ScriptedAnswer("InvalidConsolidationKey"), .refused(.badCollapseID)),
                    (ScriptedAnswer("InvalidExpiration"), .refused(.badExpiration)),
                    (ScriptedAnswer("InvalidChecksum"), .refused(.other)),
                    (ScriptedAnswer("InvalidType"), .refused(.other)),
                    (ScriptedAnswer("AccessTokenExpired"), .credentialsRefused("ADM refuses the access token")),
                    (ScriptedAnswer(status: 401), .credentialsRefused("ADM refuses the access token")),
                    (ScriptedAnswer(status: 403), .refused(.forbidden)),
                    (ScriptedAnswer(status: 400), .refused(.other)),
                    (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                    (ScriptedAnswer("MessageTooLarge"), .refused(.payloadTooLarge)),
                    (ScriptedAnswer("MaxRateExceeded", retryAfter: "8"), .throttled(retryAfter: .seconds(8))),
                    (ScriptedAnswer("InternalServerError"), .failed(retryAfter: nil)),
                    (ScriptedAnswer("ServiceUnavailable", retryAfter: "8"), .failed(retryAfter: .seconds(8))),
                ]
                let credentials = ADMConfiguration().credentials
                var entered = [
                    "client_id": credentials.clientID, "client_secret": credentials.clientSecret,
                    "endpoint": simulator.url, "trust_root": simulator.trustRootPEM,
                ]
                let provider = try providers.provider(.amazon, entered)
                #expect(await provider.test() == .works)
                await check(rows, simulator, providers, provider, providers.push(lasting: .seconds(600)))
                entered["client_secret"] = "wrong"
                let wrong = try providers.provider(.amazon, entered)
                guard case .refused = await wrong.test() else {
                    Issue.record("a wrong secret is refused")
                    return
                }
            }
        }
    }
}
