import BelfryCore
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

/// What docs/Providers.md says of all providers that are posted to, for each of them.
@Suite struct PostedSilenceTests {
    private func send(_ stage: Posted.Stage, _ stand: PostedStand, trustRoot: String? = nil) async throws -> [Outcome] {
        let provider = try stage.provider(stand, trustRoot: trustRoot)
        return await stand.send(stand.push(), to: [stage.token], by: provider)
    }

    private func isBarred(_ outcomes: [Outcome]) -> Bool {
        if case .barred? = outcomes.first, outcomes.count == 1 { true } else { false }
    }

    @Test(arguments: Posted.allCases)
    func `a device is told`(posted: Posted) async throws {
        try await PostedStand.run { stand in
            try await posted.play { stage in
                let outcomes = try await send(stage, stand)
                #expect(outcomes == [.accepted])
                #expect(stage.told() == 1)
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `where nobody listens it is failure`(posted: Posted) async throws {
        try await PostedStand.run { stand in
            try await posted.play { stage in
                try await stage.stopListening()
                let outcomes = try await send(stage, stand)
                let fault = try #require(outcomes.first?.connectionFault, "\(outcomes)")
                #expect(fault.kind == .connect)
                // What a tenant or a device names is not told more of, open or closed.
                #expect(fault.detail.hasSuffix(posted == .hms ? ": Connection refused" : "no connection"), "\(fault)")
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `a connection that ends behind the request leaves it unanswered`(posted: Posted) async throws {
        try await PostedStand.run { stand in
            try await posted.play { stage in
                stage.script.add(
                    ServiceFault(when: .init(path: stage.sendPath), times: 1, then: .close(told: true)))
                let outcomes = try await send(stage, stand)
                #expect(outcomes == [.unanswered])
                #expect(stage.told() == 1)
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `a certificate that is not trusted is for a person, unless a device named the host`(
        posted: Posted
    ) async throws {
        let stranger = try CertificateAuthority()
        try await PostedStand.run { stand in
            try await posted.play { stage in
                let outcomes = try await send(stage, stand, trustRoot: stranger.certificatePEM)
                if posted.isNamedByDevices, !posted.hasTokenService {
                    let fault = try #require(outcomes.first?.connectionFault, "\(outcomes)")
                    #expect(fault.kind == .tls && fault.detail.contains("certificate is not trusted"), "\(fault)")
                } else {
                    #expect(isBarred(outcomes) && "\(outcomes)".contains("certificate is not trusted"), "\(outcomes)")
                }
                #expect(stage.told() == 0)
            }
        }
    }

    /// The test of the credentials with a device, on a stage that something may be wrong with.
    private func test(_ stage: Posted.Stage, _ stand: PostedStand, trustRoot: String? = nil) async throws
        -> CredentialsTest
    {
        let platform = try stand.platform(
            stage.kind, stage.fields.merging(["trust_root": trustRoot ?? stage.trustRoot]) { $1 })
        return await CredentialsService(means: stand.means).test(
            platform, devices: [DeviceToken(bytes: Array(stage.token.utf8))])
    }

    @Test(arguments: Posted.allCases)
    func `the test of credentials connects as a push does, and tells what is wrong`(posted: Posted) async throws {
        let stranger = try CertificateAuthority().certificatePEM
        try await PostedStand.run { stand in
            try await posted.play { stage in
                let untrusted = try await test(stage, stand, trustRoot: stranger)
                #expect(untrusted != .works && untrusted.detail?.contains("certificate is not trusted") == true)
                let sound = try await test(stage, stand)
                if [.mpns, .pap].contains(posted) {
                    #expect(sound.name == "unknown" && sound.detail?.contains("was reached") == true, "\(sound)")
                } else {
                    #expect(sound == .works)
                }
                #expect(stage.told() == 0)
                try await stage.stopListening()
            }
            try await posted.play { stage in
                try await stage.stopListening()
                let shut = try await test(stage, stand)
                #expect(shut.name == "unknown" && shut.detail?.contains("no connection") == true, "\(shut)")
            }
        }
    }

    @Test func `without a device there is no push service to connect to, and the test says so`() async throws {
        try await PostedStand.run { stand in
            for (kind, words) in [
                (PlatformKind.web, "no browser is registered yet"), (.windowsPhone, "no phone is registered"),
            ] {
                let test = await CredentialsService(means: stand.means).test(try stand.platform(kind, [:]), devices: [])
                #expect(test.name == "unknown" && test.detail?.contains(words) == true, "\(test)")
            }
        }
    }

    /// GCM and HMS post to where an operator says, which may be within; the others to what devices and tenants name.
    @Test(arguments: Posted.allCases.filter { $0 != .gcm && $0 != .hms })
    func `an address that is not public is never written to`(posted: Posted) async throws {
        try await PostedStand.run(allowed: []) { stand in
            try await posted.play { stage in
                let outcomes = try await send(stage, stand)
                if posted.isNamedByDevices, !posted.hasTokenService {
                    #expect(outcomes == [.refused(.forbidden)])
                } else {
                    #expect(isBarred(outcomes), "\(outcomes)")
                }
                #expect(stage.told() == 0)
            }
        }
    }

    @Test(arguments: Posted.allCases.filter { $0.hasTokenService })
    func `a token service that refuses is for a person, one in trouble is failure`(posted: Posted) async throws {
        try await PostedStand.run { stand in
            try await posted.play { stage in
                let rows: [(ScriptedAnswer, Bool)] = [
                    (ScriptedAnswer(status: 400, body: #"{"error":"invalid_client"}"#), true),
                    (ScriptedAnswer(status: 401), true), (ScriptedAnswer(status: 408), false),
                    (ScriptedAnswer(status: 429), false),
                    (ScriptedAnswer(status: 200, body: #"{"error":"invalid_client"}"#), true),
                    (ScriptedAnswer(status: 500), false), (ScriptedAnswer(status: 200, body: "{}"), false),
                ]
                for (answer, isRefusal) in rows {
                    stage.script.add(
                        ServiceFault(when: .init(path: stage.tokenPath), times: 1, then: .answer(answer)))
                    let outcomes = try await send(stage, stand)
                    #expect(isBarred(outcomes) == isRefusal, "\(answer)")
                    if !isRefusal { #expect(outcomes == [.failed(retryAfter: nil)], "\(answer)") }
                }
                #expect(stage.told() == 0)
            }
        }
    }
}
