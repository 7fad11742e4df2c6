import BelfryService
import FoundationEssentials
import Testing

@testable import BelfryProviders

@Suite struct PostedCredentialsTests {
    private static let now = Instant(milliseconds: 1_750_000_000_000)

    /// Reads, checks, writes and reads again; throws what is wrong with them.
    private func credentialsService(_ kind: PlatformKind, _ entered: [String: String]) throws {
        let type = try #require(kind.provider)
        let credentials = try type.init(entered: entered.mapValues { .string($0) })
        try credentials.check(mode: .production, now: Self.now)
        let again = try type.init(entered: credentials.entered)
        #expect(AnyHashable(again) == AnyHashable(credentials))
    }

    @Test(
        arguments: [
            (.web, [:]), (.web, ["subject": "mailto:a@b.example"]),
            (.windows8, ["package_sid": "ms-app://s-1", "client_secret": "x"]),
            (
                .windows8,
                ["tenant_id": "t", "client_id": "c", "client_secret": "x", "token_url": "https://127.0.0.1:1/t"]
            ),
            (.windowsPhone, [:]), (.windowsPhone, ["domain": "localhost"]),
            (.bb10, ["application_id": "a", "password": "p", "content_provider_id": "123"]),
            (.bb10, ["application_id": "a", "password": "p", "url": "http://mds:8080/pap"]),
            (.amazon, ["client_id": "a", "client_secret": "b"]),
            (.webhook, ["url": "https://hooks.example/x?y", "secret": "0123456789abcdef01234567"]),
        ] as [(PlatformKind, [String: String])])
    func `a provider's required fields are accepted`(kind: PlatformKind, entered: [String: String]) throws {
        try credentialsService(kind, entered)
    }

    @Test(
        arguments: [
            (.web, ["vapid_key": "AAAA"], "vapid_key"), (.web, ["subject": "me"], "subject"),
            (.web, ["key": "x"], "key"),
            (.web, ["trust_root": "none"], "trust_root"),
            (.windows8, [:], "client_secret"), (.windows8, ["client_secret": "x"], "tenant_id"),
            (.windows8, ["package_sid": "s-1", "client_secret": "x"], "package_sid"),
            (.windows8, ["package_sid": "ms-app://s", "client_id": "c", "client_secret": "x"], "package_sid"),
            (.windows8, ["tenant_id": "a/b", "client_id": "c", "client_secret": "x"], "tenant_id"),
            (.windowsPhone, ["certificate": "x"], "certificate"),
            (.windowsPhone, ["certificate": "x", "private_key": "y"], "certificate or private_key"),
            (.bb10, ["application_id": "a", "password": "p"], "content_provider_id"),
            (.bb10, ["application_id": "a", "password": "p", "content_provider_id": "1.evil/"], "content_provider_id"),
            (.amazon, ["client_id": "a"], "client_secret"),
            (.amazon, ["client_id": "a", "client_secret": "b", "endpoint": "http://x"], "endpoint"),
            (.webhook, ["url": "http://hooks.example", "secret": "0123456789abcdef01234567"], "url"),
            (.webhook, ["url": "https://u@hooks.example", "secret": "0123456789abcdef01234567"], "url"),
            (.webhook, ["url": "https://hooks.example", "secret": "short"], "secret"),
            (.webhook, ["secret": "x"], "url"),
        ] as [(PlatformKind, [String: String], String)])
    func `an unusable provider field is named`(kind: PlatformKind, entered: [String: String], field: String) {
        do {
            try credentialsService(kind, entered)
            Issue.record("it was taken")
        } catch {
            #expect((error as? InvalidInput)?.field == field)
        }
    }

    @Test func `a missing key pair is made, its public half shown`() throws {
        let first = try WebPushPlatformCredentials(entered: [:])
        for entered: [String: JSONValue] in [["subject": .string("mailto:a@a.example")], ["vapid_key": .null]] {
            let kept = WebPushPlatformCredentials.kept(beside: entered, of: first)
            let replaced = try WebPushPlatformCredentials(entered: entered.merging(kept) { _, kept in kept })
            #expect(replaced.vapidKey == first.vapidKey, "replaced without a key, the subscriptions go on")
            #expect(replaced.subject == (entered["subject"] == nil ? nil : "mailto:a@a.example"))
        }
        let second = try WebPushPlatformCredentials(entered: [:])
        #expect(first != second)
        let kept = try WebPushPlatformCredentials(entered: first.entered).published()
        #expect(try first.published() == kept)
        #expect(kept["vapid_public_key"]?.utf8.count == 87)
        #expect(kept["vapid_public_key"] != first.entered["vapid_key"]?.stringValue)
    }

    @Test func `a contact Apple refuses is refused; doubtful ones warn`()
        async throws
    {
        try await TestProviders.run { providers in
            let service = CredentialsService(dependencies: providers.dependencies)
            func saved(_ subject: String?) throws -> CredentialFacts {
                let entered: [String: JSONValue] = subject.map { ["subject": .string($0)] } ?? [:]
                return try service.sealed(
                    entered, kind: .web, mode: .production, platform: UUID(), by: .tenant
                ).facts
            }
            for subject in ["mailto:a@host.local", "mailto:a@x.invalid", "https://127.0.0.1", "https://x.test"] {
                let error = #expect(throws: InvalidInput.self) { try saved(subject) }
                #expect(error?.field == "credentials.subject" && error?.problem.contains("BadJwtToken") == true)
            }
            for subject in [nil, "mailto:a@b.example"] {
                let warning = try saved(subject).published["warning"]
                #expect(warning?.contains("web.push.apple.com") == true)
            }
            let sound = try saved("mailto:ops@example.com")
            #expect(sound.published["warning"] == nil)
        }
    }

    /// Doubts about credentials are kept by push service.
    @Test func `the server's provider of a web platform names push services`() async throws {
        try await TestProviders.run { providers in
            let directory = Providers(dependencies: providers.dependencies)
            let (uuid, credentials) = (UUID(), try WebPushPlatformCredentials(entered: [:]))
            let platform = Platform(
                key: Key(1), uuid: uuid, applicationKey: Key(1), kind: .web, mode: .production, name: "x",
                secretHash: [],
                credentials: try credentials.sealed(by: providers.dependencies.vault, platform: uuid),
                credentialsVersion: 1, parked: nil, createdAt: .zero)
            let subscription =
                #"{"endpoint":"https://push.example.org/1","keys":{"p256dh":"\#(Self.point)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
            let provider = try await directory.provider(for: platform)
            #expect(
                provider.service(of: DeviceToken(bytes: Array(subscription.utf8))) == "https://push.example.org")
            await directory.shutdown(within: .seconds(1))
        }
    }

    private static let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

    /// As older versions stored it.
    @Test func `a web platform's test names services refusing its contact`() async throws {
        try await TestProviders.run { providers in
            for (subject, isRefused) in [("mailto:a@host.local", true), (nil, false), ("mailto:a@b.example", false)] {
                let uuid = UUID()
                let entered: [String: JSONValue] = subject.map { ["subject": .string($0)] } ?? [:]
                let platform = Platform(
                    key: Key(1), uuid: uuid, applicationKey: Key(1), kind: .web, mode: .production, name: "x",
                    secretHash: [],
                    credentials: try WebPushPlatformCredentials(entered: entered).sealed(
                        by: providers.dependencies.vault, platform: uuid),
                    credentialsVersion: 1, parked: nil, createdAt: .zero)
                let test = await CredentialsService(dependencies: providers.dependencies).test(platform, devices: [])
                #expect(test.name == (isRefused ? "refused" : "unknown"), "\(test)")
                #expect(test.detail?.contains("web.push.apple.com") == true, "\(test)")
                #expect(test.detail?.contains("Google's FCM takes it") == true, "\(test)")
            }
        }
    }
}
