import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

/// Rules of docs/Providers.md for all providers that are posted to, checked for each of them.
@Suite struct PostedSilenceTests {
    private func send(_ simulator: Posted.RunningSimulator, _ providers: TestProviders, trustRoot: String? = nil)
        async throws -> [Outcome]
    {
        let provider = try simulator.provider(providers, trustRoot: trustRoot)
        return await providers.send(providers.push(), to: [simulator.token], by: provider)
    }

    private func areCredentialsRefused(_ outcomes: [Outcome]) -> Bool {
        if case .credentialsRefused? = outcomes.first, outcomes.count == 1 { true } else { false }
    }

    @Test(arguments: Posted.allCases)
    func `a device is told`(posted: Posted) async throws {
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                let outcomes = try await send(simulator, providers)
                #expect(outcomes == [.accepted])
                #expect(simulator.told() == 1)
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `where nothing listens it is failure`(posted: Posted) async throws {
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                try await simulator.stopListening()
                let outcomes = try await send(simulator, providers)
                let fault = try #require(outcomes.first?.connectionFault, "\(outcomes)")
                #expect(fault.kind == .connect)
                // What a tenant or a device names is not told more of, open or closed.
                #expect(fault.detail.hasSuffix(posted == .hms ? ": Connection refused" : "no connection"), "\(fault)")
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `a connection that ends behind the request leaves it unanswered`(posted: Posted) async throws {
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                simulator.script.add(
                    ServiceFault(when: .init(path: simulator.sendPath), times: 1, then: .close(told: true)))
                let outcomes = try await send(simulator, providers)
                #expect(outcomes == [.unanswered])
                #expect(simulator.told() == 1)
            }
        }
    }

    @Test(arguments: Posted.allCases)
    func `a distrusted certificate needs a person, unless devices named it`(
        posted: Posted
    ) async throws {
        let stranger = try CertificateAuthority()
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                let outcomes = try await send(simulator, providers, trustRoot: stranger.certificatePEM)
                if posted.isNamedByDevices, !posted.hasTokenService {
                    let fault = try #require(outcomes.first?.connectionFault, "\(outcomes)")
                    #expect(fault.kind == .tls && fault.detail.contains("certificate is not trusted"), "\(fault)")
                } else {
                    #expect(
                        areCredentialsRefused(outcomes) && "\(outcomes)".contains("certificate is not trusted"),
                        "\(outcomes)")
                }
                #expect(simulator.told() == 0)
            }
        }
    }

    /// Tests the credentials against a simulator that may be faulty.
    private func test(_ simulator: Posted.RunningSimulator, _ providers: TestProviders, trustRoot: String? = nil)
        async throws
        -> CredentialsTest
    {
        let platform = try providers.platform(
            simulator.kind, simulator.fields.merging(["trust_root": trustRoot ?? simulator.trustRoot]) { $1 })
        return await CredentialsService(dependencies: providers.dependencies).test(
            platform, devices: [DeviceToken(bytes: Array(simulator.token.utf8))])
    }

    @Test(arguments: Posted.allCases)
    func `the credentials test connects as a push and names faults`(posted: Posted) async throws {
        let stranger = try CertificateAuthority().certificatePEM
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                let untrusted = try await test(simulator, providers, trustRoot: stranger)
                #expect(untrusted != .works && untrusted.detail?.contains("certificate is not trusted") == true)
                let sound = try await test(simulator, providers)
                if [.mpns, .pap].contains(posted) {
                    #expect(sound.name == "unknown" && sound.detail?.contains("was reached") == true, "\(sound)")
                } else {
                    #expect(sound == .works)
                }
                #expect(simulator.told() == 0)
                try await simulator.stopListening()
            }
            try await posted.play { simulator in
                try await simulator.stopListening()
                let shut = try await test(simulator, providers)
                #expect(shut.name == "unknown" && shut.detail?.contains("no connection") == true, "\(shut)")
            }
        }
    }

    @Test func `a test without devices says it connected to nothing`() async throws {
        try await TestProviders.run { providers in
            for (kind, words) in [
                (PlatformKind.web, "no browser is registered yet"), (.windowsPhone, "no phone is registered"),
            ] {
                let test = await CredentialsService(dependencies: providers.dependencies).test(
                    try providers.platform(kind, [:]), devices: [])
                #expect(test.name == "unknown" && test.detail?.contains(words) == true, "\(test)")
            }
        }
    }

    /// GCM and HMS post to where an operator says, which may be within; the others to what devices and tenants name.
    @Test(arguments: Posted.allCases.filter { $0 != .gcm && $0 != .hms })
    func `an address that is not public is never written to`(posted: Posted) async throws {
        try await TestProviders.run(allowed: []) { providers in
            try await posted.play { simulator in
                let outcomes = try await send(simulator, providers)
                if posted.isNamedByDevices, !posted.hasTokenService {
                    #expect(outcomes == [.refused(.addressNotAllowed)])
                } else {
                    #expect(areCredentialsRefused(outcomes), "\(outcomes)")
                }
                #expect(simulator.told() == 0)
            }
        }
    }

    @Test(arguments: Posted.allCases.filter { $0.hasTokenService })
    func `a refusing token service needs a person; others recover`(posted: Posted) async throws {
        try await TestProviders.run { providers in
            try await posted.play { simulator in
                let rows: [(ScriptedAnswer, Bool)] = [
                    (ScriptedAnswer(status: 400, body: #"{"error":"invalid_client"}"#), true),
                    (ScriptedAnswer(status: 401), true), (ScriptedAnswer(status: 408), false),
                    (ScriptedAnswer(status: 429), false),
                    (ScriptedAnswer(status: 200, body: #"{"error":"invalid_client"}"#), true),
                    (ScriptedAnswer(status: 500), false), (ScriptedAnswer(status: 200, body: "{}"), false),
                ]
                for (answer, isRefusal) in rows {
                    simulator.script.add(
                        ServiceFault(when: .init(path: simulator.tokenPath), times: 1, then: .answer(answer)))
                    let outcomes = try await send(simulator, providers)
                    #expect(areCredentialsRefused(outcomes) == isRefusal, "\(answer)")
                    if !isRefusal { #expect(outcomes == [.failed(retryAfter: nil)], "\(answer)") }
                }
                #expect(simulator.told() == 0)
            }
        }
    }
}
