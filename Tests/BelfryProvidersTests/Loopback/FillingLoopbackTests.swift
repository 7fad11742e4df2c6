import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

@testable import BelfryProviders

/// One push that says something else to each device, as the providers' own servers get it.
@Suite struct FillingLoopbackTests {
    private static func filling(_ name: String, badge: Int64 = 0) -> PersonalizedValues {
        var values = PersonalizedValues.Values(badge: badge)
        values.userID = "\(name)&co"
        values.attributes = ["name": .text(name)]
        return PersonalizedValues(values)
    }

    private static let names = ["Anna \"A\"", "Bén\\n", "", String(repeating: "long ", count: 900)]

    private static func recipients(_ tokens: [String]) -> [Recipient] {
        tokens.enumerated().map { place, token in
            Recipient(
                device: Key(Int64(place) + 1), token: DeviceToken(bytes: Array(token.utf8)),
                filling: filling(names[place % names.count], badge: Int64(place) + 1))
        }
    }

    private static func push(_ content: Push.Content, _ id: UInt64 = 1) -> Push {
        Push(
            key: Key(Int64(id)), receiptID: UUID(words: 3, id), applicationKey: Key(1), content: content,
            audience: .list(.active), lane: .normal, guarantee: .atLeastOnce, acceptedAt: .zero, expiresAt: nil)
    }

    private static let content = Push.Content(
        body: "Hi {{ user.name | default: 'you' }}", custom: ["ios": .object(["badge": .string("+1")])],
        isTemplate: true)
    private static let texts = ["Hi Anna \"A\"", "Hi Bén\\n", "Hi you"]

    /// Does the one, and then the other whatever came of it.
    private static func until(_ end: () async throws -> Void, _ body: () async throws -> Void) async throws {
        do { try await body() } catch {
            try await end()
            throw error
        }
        try await end()
    }

    // MARK: APNs and FCM

    @Test func `APNs gets each device's payload and none too large`() async throws {
        let key = APNsSimulator.IssuedKey()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.listening.ledgerDetail = .payloads
        configuration.parsesPayloads = true
        let simulator = try await APNsSimulator.start(configuration)
        let credentials = APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID), topic: "org.example.system",
            endpoint: "https://localhost:\(simulator.port)", trustRootsPEM: simulator.trustRootPEM)
        let tokens = ["a", "b", "c", "d"].map { String(repeating: $0, count: 32) }
        try await Self.until({ try await simulator.shutdown() }) {
            try await TestProvider.with(.ios, credentials) { fixture in
                let whole = await fixture.provider.send(Self.push(Self.content), to: Self.recipients(tokens))
                #expect(whole == [.accepted, .accepted, .accepted, .refused(.payloadTooLarge)])
                for (place, text) in Self.texts.enumerated() {
                    let sent = try #require(simulator.ledger.token(Array(tokens[place].utf8))?.lastRequest?.payload)
                    let aps = try #require(try JSONValue(json: sent.utf8)["aps"])
                    #expect(aps["alert"] == .string(text) && aps["badge"] == .integer(Int64(place) + 1))
                }
                #expect(simulator.ledger.token(Array(tokens[3].utf8)) == nil)
                let plain = Self.push(Push.Content(body: "{{badge}}"), 2)
                let burst = await fixture.provider.send([
                    (Self.push(Self.content, 3), Self.recipients(tokens)), (plain, Self.recipients([tokens[3]])),
                ])
                #expect(burst == [whole, [.accepted]])
                let literal = try #require(simulator.ledger.token(Array(tokens[3].utf8))?.lastRequest?.payload)
                #expect(try JSONValue(json: literal.utf8)["aps"]?["alert"] == .string("{{badge}}"))
            }
        }
    }

    @Test func `FCM gets each device's message and none too large`() async throws {
        var configuration = FCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await FCMSimulator.start(configuration)
        let credentials = FCMPlatformCredentials(
            serviceAccount: simulator.serviceAccountJSON, endpoint: simulator.url,
            trustRootsPEM: simulator.trustRootPEM)
        try await Self.until({ try await simulator.shutdown() }) {
            try await TestProvider.with(.androidFCM, credentials) { fixture in
                let content = Push.Content(
                    body: Self.content.body,
                    custom: [
                        "android": .object(["n": .object(["of": .string("{{user.name}}")]), "u": .string("{{badge}}")])
                    ],
                    isTemplate: true)
                let tokens = ["t0", "t1", "t2", "t3"]
                let outcomes = await fixture.provider.send(Self.push(content), to: Self.recipients(tokens))
                #expect(outcomes == [.accepted, .accepted, .accepted, .refused(.payloadTooLarge)])
                for (place, text) in Self.texts.enumerated() {
                    let sent = try #require(simulator.ledger.token(Array(tokens[place].utf8))?.lastRequest?.payload)
                    let message = try #require(try JSONValue(json: sent.utf8)["message"])
                    #expect(message["notification"]?["body"] == .string(text))
                    #expect(message["data"]?["message"] == .string(text))
                    #expect(message["data"]?["u"] == .string("\(place + 1)"))
                    let nested = try JSONValue(json: try #require(message["data"]?["n"]?.stringValue).utf8)
                    #expect(nested["of"] == .string(Self.names[place]))
                }
                #expect(simulator.ledger.token(Array("t3".utf8)) == nil)
            }
        }
    }

    @Test func `FCM takes every accepted size, with notifications where they fit`() async throws {
        var configuration = FCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await FCMSimulator.start(configuration)
        let credentials = FCMPlatformCredentials(
            serviceAccount: simulator.serviceAccountJSON, endpoint: simulator.url,
            trustRootsPEM: simulator.trustRootPEM)
        try await Self.until({ try await simulator.shutdown() }) {
            try await TestProvider.with(.androidFCM, credentials) { fixture in
                // Twice the text, the keys, the receipt id and the tag are 4,095 bytes with 2,000; without a notification 4,044 are.
                for size in Array(1_970...2_012) + Array(4_030...4_044) {
                    let push = Self.push(Push.Content(body: String(repeating: "x", count: size)), UInt64(size))
                    let outcomes = await fixture.provider.send(push, to: Self.recipients(["t"]))
                    #expect(outcomes == [.accepted], "\(size)")
                    let sent = try #require(simulator.ledger.token(Array("t".utf8))?.lastRequest?.payload)
                    let message = try JSONValue(json: sent.utf8)["message"]
                    #expect((message?["notification"] != nil) == (size <= 2_000), "\(size)")
                }
                let content = Push.Content(body: "{{ user.name }}", isTemplate: true)
                let recipients = [2_000, 2_001, 4_044, 4_045].enumerated().map { place, size in
                    Recipient(
                        device: Key(Int64(place) + 1), token: DeviceToken(bytes: Array("d\(size)".utf8)),
                        filling: Self.filling(String(repeating: "n", count: size)))
                }
                let outcomes = await fixture.provider.send(Self.push(content), to: recipients)
                #expect(outcomes == [.accepted, .accepted, .accepted, .refused(.payloadTooLarge)])
                for (recipient, isShown) in zip(recipients, [true, false, false]) {
                    let sent = try #require(simulator.ledger.token(recipient.token.bytes)?.lastRequest?.payload)
                    #expect((try JSONValue(json: sent.utf8)["message"]?["notification"] != nil) == isShown)
                }
            }
        }
    }

    @Test func `a counted badge is a text in browsers' data`() async throws {
        try await SharedFieldsLoopbackTests.withFCM(.webFCM) { fixture, sent in
            var content = Push.Content(body: "b", custom: ["web": .object(["a": .integer(1)])])
            content.badge = .add(1)
            let outcomes = await fixture.provider.send(Self.push(content), to: Self.recipients(["t0", "t1"]))
            #expect(outcomes == [.accepted, .accepted])
            let payload = try sent("t1")
            #expect(payload.contains(#""app_badge":"2""#), "\(payload)")
        }
    }

    @Test func `a browser's link is judged when it is filled`() async throws {
        try await SharedFieldsLoopbackTests.withFCM(.webFCM) { fixture, sent in
            let others = #"{"de":{"link":"https://a.de/"},"fr":{"link":"shop://fr"},"it":{"link":"http://a.it/"}}"#
            var content = Push.Content(body: nil, shared: SharedFields([.title: "t", .link: "https://a.example/"]))
            content.translations = try Translations(JSONValue(json: others.utf8), field: "message.translations")
            let languages = ["en", "de", "fr", "it"]
            let recipients = languages.enumerated().map { place, language in
                var values = PersonalizedValues.Values()
                values.language = language
                return Recipient(
                    device: Key(Int64(place) + 1), token: DeviceToken(bytes: Array(language.utf8)),
                    filling: PersonalizedValues(values))
            }
            let outcomes = await fixture.provider.send(Self.push(content), to: recipients)
            #expect(outcomes == Array(repeating: .accepted, count: 4))
            let links: [String?] = try languages.map { token in
                let message = try JSONValue(json: sent(token).utf8)["message"]
                return message?["webpush"]?["fcm_options"]?["link"]?.stringValue
            }
            #expect(links == ["https://a.example/", "https://a.de/", nil, nil])
            let signed = Push.Content(
                body: nil, shared: SharedFields([.title: "t", .link: "{{'https://a.example/s' | signed_link}}"]),
                isTemplate: true)
            #expect(await fixture.provider.send(Self.push(signed, 2), to: Self.recipients(["t0"])) == [.accepted])
            let payload = try sent("t0")
            #expect(payload.contains(#""fcm_options":{"link":"https://a.example/s"}"#), "\(payload)")
        }
    }

    // MARK: What is posted

    @Test func `browsers get a payload each, encrypted`() async throws {
        try await TestProviders.run { providers in
            var configuration = WebPushConfiguration()
            configuration.listening.ledgerDetail = .payloads
            let simulator = try await WebPushSimulator.start(configuration)
            try await Self.until({ try await simulator.shutdown() }) {
                let provider = try providers.provider(
                    .web, ["trust_root": simulator.trustRootPEM, "subject": "mailto:ops@belfry.example"])
                let web = try WebMessage(
                    try JSONValue(json: #"{"title":"{{user.name}}","navigate":"/u/{{user.id}}","app_badge":"+1"}"#.utf8)
                )
                let push = Self.push(Push.Content(body: nil, web: web, isTemplate: true))
                let subscriptions = simulator.subscribe(4)
                var recipients = Self.recipients(subscriptions.map(\.json))
                recipients.insert(
                    Recipient(device: Key(9), token: DeviceToken(bytes: [1]), filling: Self.filling("x")), at: 1)
                let outcomes = await provider.send(push, to: recipients)
                #expect(
                    outcomes == [.accepted, .refused(.badToken), .accepted, .accepted, .refused(.payloadTooLarge)])
                for place in 0..<3 {
                    let told = try #require(simulator.ledger.token(Array(subscriptions[place].id.utf8)))
                    let sent = try JSONValue(json: try #require(told.lastRequest?.payload).utf8)
                    #expect(sent["app_badge"] == .integer(Int64(place) + 1))
                    #expect(sent["notification"]?["title"] == .string(Self.names[place]))
                }
                let told = try #require(simulator.ledger.token(Array(subscriptions[0].id.utf8))?.lastRequest?.payload)
                #expect(told.contains("/u/Anna%20%22A%22%26co"))
            }
        }
    }

    @Test func `a service without splicing renders per device, sharing equal ones`()
        async throws
    {
        try await TestProviders.run { providers in
            var configuration = WNSConfiguration()
            configuration.listening.ledgerDetail = .payloads
            let simulator = try await WNSSimulator.start(configuration)
            try await Self.until({ try await simulator.shutdown() }) {
                let own = WNSConfiguration()
                let provider = try providers.provider(
                    .windows8,
                    [
                        "package_sid": own.store.clientID, "client_secret": own.store.clientSecret,
                        "token_url": simulator.storeTokenURL, "domain": "localhost",
                        "trust_root": simulator.trustRootPEM,
                    ])
                let content = Push.Content(body: "<{{ user.name | default: 'you' }}> & co", isTemplate: true)
                let channels = (0..<3).map { simulator.channel("t\($0)") }
                let outcomes = await provider.send(Self.push(content), to: Self.recipients(channels))
                #expect(outcomes == [.accepted, .accepted, .accepted])
                let sent = try #require(simulator.ledger.token(Array("t0".utf8))?.lastRequest?.payload)
                #expect(sent.contains("&lt;Anna \"A\"> &amp; co"), "\(sent)")
                let last = try #require(simulator.ledger.token(Array("t2".utf8))?.lastRequest?.payload)
                #expect(last.contains("&lt;you>"), "\(last)")
            }
        }
    }

    @Test func `a webhook gets each device's texts in separate requests`() async throws {
        try await TestProviders.run { providers in
            let secret = "a secret of this test, long enough"
            var configuration = WebhookConfiguration()
            configuration.listening.ledgerDetail = .payloads
            configuration.secret = Array(secret.utf8)
            let simulator = try await WebhookSimulator.start(configuration)
            try await Self.until({ try await simulator.shutdown() }) {
                let provider = try providers.provider(
                    .webhook, ["url": "\(simulator.url)/hook", "secret": secret, "trust_root": simulator.trustRootPEM])
                let recipients = Self.recipients(["t0", "t1", "t2"]) + Self.recipients(["t3"])
                let outcomes = await provider.send(Self.push(Self.content), to: recipients)
                #expect(outcomes == Array(repeating: .accepted, count: 4))
                // Two of them get the same.
                for (token, text) in [("t0", Self.texts[0]), ("t1", Self.texts[1]), ("t2", Self.texts[2])] {
                    let sent = try #require(simulator.ledger.token(Array(token.utf8))?.lastRequest?.payload)
                    let push = try #require(try JSONValue(json: sent.utf8)["push"])
                    #expect(push["body"] == .string(text), "\(sent)")
                    #expect(push["custom"]?["ios"]?["badge"] == .string("+1"), "\(sent)")
                }
            }
        }
    }
}
