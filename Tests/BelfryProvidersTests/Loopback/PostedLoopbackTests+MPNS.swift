import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

extension PostedLoopbackTests {
    @Test func `MPNS is shown the certificate of an authenticated sender`() async throws {
        try await TestProviders.run { providers in
            var configuration = MPNSConfiguration()
            let authority = try CertificateAuthority()
            configuration.listening.authority = authority
            configuration.listening.needsClientCertificate = true
            configuration.messagesPerDay = 1
            try await with(MPNSSimulator.self, configuration) { simulator in
                var entered = ["domain": "localhost", "trust_root": simulator.trustRootPEM]
                let channels = [simulator.unthrottledChannel("a"), simulator.unthrottledChannel("a")]
                let unknown = try providers.provider(.windowsPhone, entered)
                let refused = await providers.send(providers.push(), to: channels, by: unknown)
                #expect(!refused.contains(.accepted) && simulator.ledger.totals().told == 0)
                let identity = try authority.issueClient(topic: "phone")
                entered["certificate"] = identity.certificatePEM
                entered["private_key"] = identity.privateKeyPEM
                let known = try providers.provider(.windowsPhone, entered)
                #expect(await providers.send(providers.push(), to: channels, by: known) == [.accepted, .accepted])
            }
        }
    }

    @Test func `each answer of MPNS`() async throws {
        try await TestProviders.run { providers in
            try await with(MPNSSimulator.self, configured(MPNSConfiguration())) { simulator in
                let rows: [Row] = [
                    (ScriptedAnswer("QueueFull"), .throttled(retryAfter: .seconds(240))),
                    (ScriptedAnswer("Suppressed"), .refused(.dropped)),
                    (ScriptedAnswer("BadRequest"), .refused(.other)),
                    (ScriptedAnswer("Unauthorized"), .refused(.forbidden)),
                    (ScriptedAnswer("Forbidden"), .credentialsRefused("MPNS refuses the certificate")),
                    (ScriptedAnswer("Expired"), .gone(since: providers.clock.now)),
                    (ScriptedAnswer(status: 404), .refused(.badToken)),
                    (ScriptedAnswer("MethodNotAllowed"), .refused(.methodNotAllowed)),
                    (ScriptedAnswer("Throttled"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("InActive"), .throttled(retryAfter: .seconds(3_660))),
                    (ScriptedAnswer("ServiceUnavailable"), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 200), .accepted),
                    (ScriptedAnswer(status: 200, headers: ["X-NotificationStatus": "Dropped"]), .refused(.dropped)),
                    (ScriptedAnswer("QueueFull", retryAfter: "30"), .throttled(retryAfter: .seconds(30))),
                    (ScriptedAnswer("Throttled", retryAfter: "7200"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("InActive", retryAfter: "7200"), .throttled(retryAfter: .seconds(3_660))),
                    (ScriptedAnswer(status: 413), .refused(.payloadTooLarge)),
                    (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 500), .failed(retryAfter: nil)),
                    (ScriptedAnswer(status: 418), .refused(.other)),
                ]
                let provider = try providers.provider(
                    .windowsPhone, ["domain": "localhost", "trust_root": simulator.trustRootPEM])
                await check(
                    rows, simulator, providers, provider, providers.push(lasting: .seconds(500)),
                    address: simulator.channel)
                let told = simulator.ledger.token(Array("d\(rows.count)".utf8))
                #expect(told?.lastRequest?.header("x-notificationclass") == "12")
                for template in ["toast", "tile", "flipTile", "cycleTile", "iconicTile", "raw"] {
                    let push = providers.push(["windowsPhone": .object(["template": .string(template)])])
                    let outcomes = await providers.send(push, to: [simulator.channel("t")], by: provider)
                    #expect(outcomes == [.accepted], "\(template)")
                }
            }
        }
    }
}
