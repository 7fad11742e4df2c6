import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

@Suite struct HangingHostTests {
    /// More devices on the host that hangs than there are places, and all of them before the others.
    @Test func `a hanging push service delays no other in the batch`() async throws {
        try await TestProviders.run(deadline: .seconds(30)) { providers in
            var configuration = WebPushConfiguration()
            configuration.listening.authority = try CertificateAuthority()
            let hanging = try await WebPushSimulator.start(configuration)
            let lively = try await WebPushSimulator.start(configuration)
            hanging.script.add(ServiceFault(then: .hang()))
            let provider = try providers.provider(.web, ["trust_root": hanging.trustRootPEM])
            let width = providers.dependencies.options.posting.connectionsPerHost
            let tokens = (hanging.subscribe(width * 2) + lively.subscribe(200)).map(\.json)
            let outcomes = await providers.send(providers.push(), to: tokens, by: provider)
            #expect(outcomes.dropFirst(width * 2).allSatisfy { $0 == .accepted })
            #expect(lively.ledger.totals().told == 200)
            let stuck = outcomes.prefix(width * 2)
            #expect(
                stuck.allSatisfy { $0 == .unanswered || $0 == .failed(retryAfter: nil) || $0.connectionFault != nil })
            try await hanging.shutdown()
            try await lively.shutdown()
        }
    }
}
