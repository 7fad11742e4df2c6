import BelfryService
import FoundationEssentials
import Testing

@testable import BelfryProviders

@Suite struct PlatformCredentialsTests {
    @Test func `an Android platform takes service account or gateway key`() throws {
        guard case .gcm = try AndroidPlatformCredentials(entered: ["gcm_api_key": .string("k")]) else {
            Issue.record("a key is for GCM")
            return
        }
        let account = JSONValue.object(["project_id": .string("p")])
        guard case .fcm(let credentials) = try AndroidPlatformCredentials(entered: ["service_account": account]) else {
            Issue.record("a service account is for FCM")
            return
        }
        #expect(credentials.serviceAccount == #"{"project_id":"p"}"#)
        #expect(throws: InvalidInput.self) { try AndroidPlatformCredentials(entered: [:]) }
        #expect(throws: InvalidInput.self) {
            try AndroidPlatformCredentials(entered: ["service_account": account, "gcm_api_key": .string("k")])
        }
    }

    private static let certificate: [String: JSONValue] = ["topic": .string("t"), "apns_certificate": .string("")]
    private static let key: [String: JSONValue] = [
        "topic": .string("t"), "apns_key": .string("k"), "key_id": .string("k"), "team_id": .string("t"),
    ]

    @Test(arguments: [
        (PlatformKind.androidFCM, ["service_account": JSONValue.string("{}")], "service_account cannot be used"),
        (.androidFCM, ["gcm_api_key": .string("k")], "gcm_api_key is not a field of FCM credentials"),
        (.androidFCM, ["service_account": .integer(1)], "service_account has to be a string"),
        (.android, ["gcm_api_key": .string("a b")], "gcm_api_key holds"),
        (.android, ["gcm_api_key": .string("k"), "endpoint": .string("http://x/")], "endpoint is"),
        (.huawei, ["app_id": .string("1")], "app_secret is missing"),
        (.huawei, ["app_id": .string("x"), "app_secret": .string("s")], "app_id or app_secret cannot be used"),
        (
            .huawei, ["app_id": .string("1"), "app_secret": .string("s"), "endpoint": .string("https://h/path")],
            "endpoint is"
        ),
        (
            .huawei, ["service_account": .string("{}"), "token_url": .string("https://h")],
            "token_url and service_account exclude each other"
        ),
        (.ios, key.merging(["passphrase": .string("p")]) { $1 }, "passphrase is that of apns_certificate"),
        (.ios, certificate.merging(["key_id": .string("k")]) { $1 }, "key_id goes with apns_key alone"),
        (.ios, certificate.merging(["team_id": .string("t")]) { $1 }, "team_id goes with apns_key alone"),
        (
            .ios, certificate.merging(["channels_endpoint": .string("https://h")]) { $1 },
            "channels_endpoint has no meaning for type ios,"
        ),
    ])
    func `an unusable field is refused by name`(
        kind: PlatformKind, entered: [String: JSONValue], words: String
    ) throws {
        let error = #expect(throws: InvalidInput.self) {
            let credentials = try #require(kind.provider).init(entered: entered)
            try credentials.check(for: kind)
            try credentials.check(mode: .production, now: .zero)
        }
        #expect(error?.description.hasPrefix(words) == true, "\(String(describing: error))")
    }

    @Test func `entered values make equal credentials again`() throws {
        let entered: [String: JSONValue] = [
            "app_id": .string("1"), "app_secret": .string("s"), "endpoint": .string("https://localhost:1"),
            "token_url": .string("https://localhost:1/t"), "trust_root": .string("pem"),
        ]
        #expect(try HMSPlatformCredentials(entered: entered).entered == entered)
        let key: [String: JSONValue] = ["gcm_api_key": .string("k"), "endpoint": .string("https://x/gcm/send")]
        #expect(try AndroidPlatformCredentials(entered: key).entered == key)
    }

    @Test(
        arguments: [
            (PlatformKind.ios, ["topic": "t", "apns_key": "k", "key_id": "k", "team_id": "t"], []),
            (
                .ios,
                ["topic": "t", "apns_certificate": "", "endpoint": "https://h", "channels_endpoint": "https://h"],
                [
                    "channels_endpoint", "endpoint",
                ]
            ),
            (.androidFCM, ["service_account": "{}"], []),
            (.androidFCM, ["service_account": "{}", "endpoint": "https://h"], ["endpoint"]),
            (.android, ["gcm_api_key": "k", "endpoint": "https://h"], []),
            (.huawei, ["app_id": "1", "app_secret": "s"], []),
            (.huawei, ["app_id": "1", "app_secret": "s", "token_url": "https://h"], ["token_url"]),
        ] as [(PlatformKind, [String: String], [String])])
    func `credentials tell what addresses they name that nothing guards`(
        kind: PlatformKind, entered: [String: String], fields: [String]
    ) throws {
        let credentials = try #require(kind.provider).init(entered: entered.mapValues { .string($0) })
        #expect(credentials.unguardedAddresses == fields)
    }

    @Test func `a tenant cannot direct us into the operator's network`() async throws {
        let entered = ["app_id": "1", "app_secret": "s", "endpoint": "https://10.0.0.1"].mapValues {
            JSONValue.string($0)
        }
        try await TestProviders.run { providers in
            let credentialsService = CredentialsService(dependencies: providers.dependencies)
            func seal(by author: CredentialsAuthor) throws {
                _ = try credentialsService.sealed(
                    entered, kind: .huawei, mode: .production, platform: UUID(), by: author)
            }
            try seal(by: .operator)
            let refusal = #expect(throws: InvalidInput.self) { try seal(by: .tenant) }
            #expect(refusal?.field == "credentials.endpoint")
        }
    }

    @Test func `a tenant may replace a secret, not the operator's address`()
        async throws
    {
        try await TestProviders.run { providers in
            let service = CredentialsService(dependencies: providers.dependencies)
            let platform = try providers.platform(
                .huawei, ["app_id": "1", "app_secret": "s", "endpoint": "https://10.0.0.1"])
            let secret: [String: JSONValue] = ["app_id": .string("2"), "app_secret": .string("t")]
            #expect(try service.replacement(of: platform, by: secret, of: .tenant).kept == ["endpoint"])
            let moved = secret.merging(["endpoint": .string("https://10.0.0.2")]) { _, new in new }
            let refusal = #expect(throws: InvalidInput.self) {
                try service.replacement(of: platform, by: moved, of: .tenant)
            }
            #expect(refusal?.field == "credentials.endpoint")
        }
    }

    @Test(
        arguments: [
            (
                .web, ["vapid_key": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", "subject": "mailto:a@b.example"],
                [:], ["subject", "vapid_key"]
            ),
            (
                .web, ["vapid_key": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", "subject": "mailto:a@b.example"],
                ["subject": ""], ["vapid_key"]
            ),
            (
                .web, ["vapid_key": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"], ["subject": "mailto:c@b.example"],
                ["vapid_key"]
            ),
            (
                .android, ["gcm_api_key": "k", "endpoint": "https://gcm.example/send"], ["gcm_api_key": "l"],
                ["endpoint"]
            ),
            (
                .bb10, ["application_id": "a", "password": "p", "content_provider_id": "1"],
                ["application_id": "a", "password": "q"], ["content_provider_id"]
            ),
            (
                .bb10, ["application_id": "a", "password": "p", "content_provider_id": "1"],
                ["application_id": "a", "password": "q", "url": "http://mds:8080/pap"], []
            ),
            (
                .webhook, ["url": "https://hooks.example/x", "secret": "0123456789abcdef01234567"],
                ["secret": "abcdef0123456789abcdef01"], ["url"]
            ),
        ] as [(PlatformKind, [String: String], [String: String], [String])])
    func `replacing credentials keeps non-secret fields unless named`(
        kind: PlatformKind, old: [String: String], entered: [String: String], kept: [String]
    ) async throws {
        try await TestProviders.run { providers in
            let service = CredentialsService(dependencies: providers.dependencies)
            let platform = try providers.platform(kind, old)
            let replacement = try service.replacement(
                of: platform, by: entered.mapValues { .string($0) }, of: .operator)
            #expect(replacement.kept == kept)
        }
    }

    @Test func `a secret never stays beside a new address`() async throws {
        try await TestProviders.run { providers in
            let service = CredentialsService(dependencies: providers.dependencies)
            let platform = try providers.platform(
                .webhook, ["url": "https://hooks.example/x", "secret": "0123456789abcdef01234567"])
            let refusal = #expect(throws: InvalidInput.self) {
                try service.replacement(
                    of: platform, by: ["url": .string("https://thief.example/x")], of: .operator)
            }
            #expect(refusal?.field == "credentials.secret")
        }
    }

    private static let document = "{\n  \"type\": \"service_account\",\n  \"private_key\": \"-----BEGIN\\nabc\\n\"\n}"

    @Test(arguments: [
        document, document.replacing("\\n", with: "\n"), document.replacing("\\n", with: "\r\n"), "'\(document)'",
        "\u{FEFF} \(document)\n",
        "\"\(document.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\"",
        document.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""),
        Data(document.utf8).base64EncodedString(),
    ])
    func `a document is read as shells and consoles paste it`(text: String) throws {
        let read = try EnteredDocument(text).json(field: "service_account")
        let expected = try JSONValue(json: Self.document.utf8)
        #expect(try JSONValue(json: read.utf8) == expected, "\(read)")
    }

    @Test(arguments: [
        ("{\n\"a\": \u{201C}b\u{201D}\n}", "has \u{201C} in line 2"),
        ("{\n\"a\": \"b\",\n\"c\": \"d", "is cut off: it ends in line 3"),
        ("{\n\"a\" \"b\"\n}", "line 2"),
    ])
    func `a damaged document says where`(text: String, words: String) {
        let fault = #expect(throws: InvalidInput.self) { try EnteredDocument(text).json(field: "service_account") }
        #expect(fault?.field == "service_account" && fault?.problem.contains(words) == true, "\(fault as Any)")
    }

    @Test(arguments: [
        ("org.example.*", "several apps"), ("ABCDE12345.org.example.app", "team's id"),
        ("org.example.app.voip", ".voip is added"), ("com.acme.voip", "enter com.acme.voip.voip"),
        ("org.example.app", nil),
    ])
    func `an odd topic is warned of`(topic: String, words: String?) throws {
        let credentials = APNsPlatformCredentials(
            identity: .key(p8: "", keyID: "ABCDE12345", teamID: "ABCDE12345"), topic: topic)
        #expect(credentials.published()["warning"]?.contains(words ?? "-") == (words == nil ? nil : true))
    }

    @Test func `key ids are written as Apple writes them`() throws {
        let credentials = try APNsPlatformCredentials(
            entered: Self.key.merging(["key_id": .string(" abcde12345 "), "team_id": .string("fghij67890")]) { $1 })
        #expect(credentials.published()["key_id"] == "ABCDE12345" && credentials.published()["team_id"] == "FGHIJ67890")
    }

    @Test func `a subject's scheme may be in capital letters`() throws {
        let credentials = try WebPushPlatformCredentials(entered: ["subject": .string("MAILTO:ops@foo.org")])
        try credentials.check(mode: .production, now: .zero)
        #expect(try credentials.published()["subject"] == "mailto:ops@foo.org")
    }
}
