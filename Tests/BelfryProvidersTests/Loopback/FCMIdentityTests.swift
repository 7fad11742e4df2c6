import BelfryService
import BelfrySimulators
import Foundation
import Testing

@testable import BelfryProviders

/// Tokens without a key, by every step to them, against the simulator.
@Suite struct FCMIdentityTests {
    /// A simulated Google, the folder that the operator allows, and a file in it.
    struct Place: Sendable {
        let simulator: FCMSimulator
        let folder: URL

        var file: String { folder.appending(path: "token").path }
        var fileSource: String { #"{"file":"\#(file)"}"# }
        var urlSource: String {
            #"{"url":"\#(simulator.url)/subject","headers":{"Metadata":"True"},"format":{"type":"json","#
                + #""subject_token_field_name":"access_token"}}"#
        }

        func write(_ token: String) throws { try Data("\(token)\n".utf8).write(to: URL(filePath: file)) }

        func credentials(_ source: String?, impersonates: Bool = true, project: String? = nil) -> FCMPlatformCredentials
        {
            FCMPlatformCredentials(
                serviceAccount: source.map {
                    simulator.externalAccountJSON(source: $0, impersonates: impersonates)
                }, projectID: project, endpoint: simulator.url, trustRootsPEM: simulator.trustRootPEM)
        }
    }

    private static func with(
        _ credentials: (Place) throws -> FCMPlatformCredentials,
        change: @escaping (inout ProviderOptions, Place) -> Void = { _, _ in },
        _ body: (Place, TestProvider) async throws -> Void
    ) async throws {
        let simulator = try await FCMSimulator.start()
        let folder = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID().uuidString)")
        let place = Place(simulator: simulator, folder: folder)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try place.write(simulator.service.identities.subject())
            try await TestProvider.with(
                .androidFCM, try credentials(place),
                change: {
                    $0.fcm.tokenFolders = [folder.path]
                    change(&$0, place)
                }
            ) { try await body(place, $0) }
        } catch {
            try? FileManager.default.removeItem(at: folder)
            try await simulator.shutdown()
            throw error
        }
        try? FileManager.default.removeItem(at: folder)
        try await simulator.shutdown()
    }

    @Test func `a file's token becomes one of the service account`() async throws {
        try await Self.with({ $0.credentials($0.fileSource) }) { place, fixture in
            #expect(await fixture.provider.test() == .works)
            await withTaskGroup(of: [Outcome].self) { group in
                for number in 0..<20 { group.addTask { await fixture.send(["t\(number)"]) } }
                for await outcomes in group { #expect(outcomes == [.accepted]) }
            }
            let service = place.simulator.service
            #expect(service.identities.federated.issued == 1 && service.accessTokens.issued == 1)
            service.accessTokens.expireAll()
            #expect(await fixture.send(["later"]) == [.accepted])
            #expect(service.identities.federated.issued == 2 && service.accessTokens.issued == 2)
        }
    }

    @Test func `an exchanged token works without a service account`() async throws {
        try await Self.with({ place in
            place.credentials(place.urlSource, impersonates: false, project: place.simulator.projectID)
        }) { place, fixture in
            #expect(await fixture.send(["a", "b"]) == [.accepted, .accepted])
            let service = place.simulator.service
            #expect(service.identities.federated.issued == 0 && service.accessTokens.issued == 1)
        }
    }

    @Test func `a metadata server is asked where an operator names it`() async throws {
        for isOn in [true, false] {
            try await Self.with(
                { $0.credentials(nil, project: $0.simulator.projectID) },
                change: { if isOn { $0.fcm.metadataServer = $1.simulator.url } }
            ) { place, fixture in
                let outcome = await fixture.send(["a"]).first
                #expect((outcome == .accepted) == isOn)
                guard !isOn else { return }
                let test = await fixture.provider.test()
                #expect(test.name == "refused" && test.detail?.contains("fcm.metadata.server") == true, "\(test)")
            }
        }
    }

    private static let denied =
        #"{"error":{"code":403,"message":"Permission 'iam.serviceAccounts.getAccessToken' denied.","#
        + #""status":"PERMISSION_DENIED"}}"#

    /// The path that answers otherwise, its answer, whether that is for an operator to mend, and the first words of the reason.
    private static let answers: [(path: String, answer: ScriptedAnswer, isRefusal: Bool, words: String)] = [
        ("/subject", ScriptedAnswer(status: 302), true, "credential_source.url: answered 302"),
        ("/subject", ScriptedAnswer(status: 404, body: "eyJ-secret"), true, "credential_source.url: answered 404"),
        ("/subject", ScriptedAnswer(status: 500), false, "credential_source.url: answered 500"),
        (
            "/subject", ScriptedAnswer(status: 200, body: "eyJ-secret"), true,
            "credential_source.url: what is there is no"
        ),
        ("/subject", ScriptedAnswer(status: 200, body: #"{"access_token":"unknown-secret"}"#), true, "token_url: "),
        ("/v1/token", ScriptedAnswer(status: 302), false, "token_url: "),
        (
            "/v1/token", ScriptedAnswer(status: 403, body: #"{"error":"unauthorized_client"}"#), true,
            "token_url: https://"
        ),
        ("/v1/token", ScriptedAnswer(status: 503), false, "token_url: "),
        ("generateAccessToken", ScriptedAnswer(status: 403, body: denied), true, "service_account_impersonation_url: "),
        ("generateAccessToken", ScriptedAnswer(status: 429), false, "service_account_impersonation_url: "),
    ]

    @Test(arguments: answers.indices)
    func `a failed step is named, and quotes no token`(index: Int) async throws {
        let row = Self.answers[index]
        try await Self.with({ $0.credentials($0.urlSource) }) { place, fixture in
            let impersonation = "/v1/projects/-/serviceAccounts/\(place.simulator.service.account.email):\(row.path)"
            let path = row.path.hasPrefix("/") ? row.path : impersonation
            place.simulator.script.add(ServiceFault(when: .init(path: path), then: .answer(row.answer)))
            let outcome = try #require(await fixture.send(["a"]).first)
            let text = "\(outcome)"
            #expect(text.contains(row.words) && !text.contains("secret"), "\(text)")
            if case .credentialsRefused = outcome { #expect(row.isRefusal) } else { #expect(!row.isRefusal) }
            let test = await fixture.provider.test()
            #expect((test.name == "refused") == row.isRefusal, "\(test)")
            #expect(test.detail?.contains(row.words) == true && test.detail?.contains("secret") == false, "\(test)")
        }
    }

    @Test func `a slow provider of tokens is given up`() async throws {
        try await Self.with(
            { $0.credentials($0.urlSource) }, change: { options, _ in options.fcm.deadline = .seconds(2) }
        ) { place, fixture in
            place.simulator.script.add(ServiceFault(when: .init(path: "/subject"), then: .hang()))
            let outcome = try #require(await fixture.send(["a"]).first)
            #expect("\(outcome)".contains("credential_source.url: "), "\(outcome)")
            place.simulator.script.clear()
        }
    }

    @Test func `a subject token's end is told, its successor used`() async throws {
        try await Self.with({ $0.credentials($0.fileSource) }) { place, fixture in
            try place.write(place.simulator.service.identities.subject(for: .seconds(-1)))
            let test = await fixture.provider.test()
            #expect(test.name == "refused" && test.detail?.contains("stale to sign-in") == true, "\(test)")
            try place.write(place.simulator.service.identities.subject())
            #expect(await fixture.credentialsService.test(fixture.platform, devices: []) == .works)
            try FileManager.default.removeItem(atPath: place.file)
            let gone = await fixture.credentialsService.test(fixture.platform, devices: [])
            #expect(gone.name == "unknown" && gone.detail?.contains("there is no such file") == true, "\(gone)")
        }
    }

    @Test func `a private address of a token is not connected to`() async throws {
        try await Self.with(
            { $0.credentials($0.urlSource) }, change: { options, _ in options.posting.allowed = [] }
        ) { place, fixture in
            let outcome = try #require(await fixture.send(["a"]).first)
            #expect("\(outcome)".contains("credential_source.url: "), "\(outcome)")
            #expect(place.simulator.service.identities.subjects.issued == 1, "it was asked nevertheless")
        }
    }

    @Test func `an operator's endpoint opens nothing to a tenant`() async throws {
        try await Self.with({ $0.credentials($0.fileSource) }) { place, fixture in
            for entered in [
                ["project_id": "p"],
                ["service_account": place.simulator.externalAccountJSON(source: place.fileSource, impersonates: false)],
            ] {
                let more = entered.merging(["project_id": "p"]) { $1 }.mapValues { JSONValue.string($0) }
                #expect(throws: InvalidInput.self) {
                    try fixture.credentialsService.replacement(of: fixture.platform, by: more, of: .tenant)
                }
                let kept = try fixture.credentialsService.replacement(of: fixture.platform, by: more, of: .operator)
                    .kept
                #expect(kept == ["endpoint", "trust_root"])
            }
        }
    }

    @Test func `a tenant has no file, address or machine`() async throws {
        let google = { (source: String) in
            #"{"type":"external_account","audience":"//iam.googleapis.com/a","subject_token_type":"t","#
                + #""token_url":"https://sts.googleapis.com/v1/token","credential_source":\#(source)}"#
        }
        try await Self.with({ $0.credentials($0.fileSource) }) { place, fixture in
            func refusal(_ entered: [String: String], by author: CredentialsAuthor = .tenant) -> String? {
                do {
                    _ = try fixture.credentialsService.sealed(
                        entered.mapValues { .string($0) }, kind: .androidFCM, mode: .production, platform: UUID(),
                        by: author)
                    return nil
                } catch { return (error as? InvalidInput)?.field ?? "\(error)" }
            }
            let file = ["service_account": google(place.fileSource), "project_id": "p"]
            #expect(refusal(file) == "credentials.service_account.credential_source.file")
            #expect(refusal(file, by: .operator) == nil)
            #expect(refusal(["project_id": "p"]) == "credentials.project_id")
            #expect(
                refusal(["service_account": place.simulator.externalAccountJSON(source: #"{"url":"https://a"}"#)])
                    == "credentials.service_account.token_url")
            let stranger = google(#"{"url":"https://a.example"}"#).replacing("sts.googleapis.com", with: "sts.example")
            #expect(
                refusal(["service_account": stranger, "project_id": "p"])
                    == "credentials.service_account.token_url")
            #expect(refusal(["service_account": google(#"{"url":"https://a.example"}"#), "project_id": "p"]) == nil)
        }
    }
}
