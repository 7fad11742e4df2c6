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
                #expect(outcomes == [.failed(retryAfter: nil)])
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
                    #expect(outcomes == [.failed(retryAfter: nil)])
                } else {
                    #expect(isBarred(outcomes), "\(outcomes)")
                }
                #expect(stage.told() == 0)
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
