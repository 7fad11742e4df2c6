import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

/// Browsers of several push services on one platform.
@Suite struct PushServicesTests {
    @Test func `a push service doubting our key stops no other`() async throws {
        try await TestProviders.run { providers in
            var configuration = WebPushConfiguration()
            configuration.listening.authority = try CertificateAuthority()
            let doubting = try await WebPushSimulator.start(configuration)
            let content = try await WebPushSimulator.start(configuration)
            doubting.script.add(
                ServiceFault(then: .answer(ScriptedAnswer(status: 403, body: #"{"reason":"BadJwtToken"}"#))))
            let provider = try providers.provider(.web, ["trust_root": doubting.trustRootPEM])
            let tokens = zip(doubting.subscribe(20), content.subscribe(20)).flatMap { [$0.json, $1.json] }
            let services = tokens.map { provider.service(of: DeviceToken(bytes: Array($0.utf8))) }
            #expect(Set(services).count == 2)
            for _ in 1...3 {
                let outcomes = await providers.send(providers.push(), to: tokens, by: provider)
                for (service, outcome) in zip(services, outcomes) {
                    if service == services[0] {
                        guard case .refused(.forbidden, _) = outcome else {
                            Issue.record("\(outcome)")
                            continue
                        }
                    } else {
                        #expect(outcome == .accepted)
                    }
                }
            }
            #expect(content.ledger.totals().told == 60)
            try await doubting.shutdown()
            try await content.shutdown()
        }
    }
}
