import BelfryService
import BelfrySimulators
import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryProviders

/// One message with every field, as each provider's own server gets it.
@Suite struct SharedFieldsLoopbackTests {
    static let content = Push.Content(
        body: "Fresh \"cheese\" <&>",
        shared: SharedFields(
            [
                .title: "جبن 🧀", .image: "https://shop.example/c.jpg", .link: "https://shop.example/c?x=1&y=2",
                .sound: "default", .category: "NEWS", .channel: "offers", .thread: "town", .collapseKey: "cheese",
            ], data: ["story": .integer(17), "tags": .strings(["a", "b"])]), badge: .set(3))

    private static let receiptID = UUID(words: 3, 1)
    private static let receipt = "00000000-0000-0003-0000-000000000001"

    private static func push(_ content: Push.Content, at now: Instant) -> Push {
        Push(
            key: Key(1), receiptID: receiptID, applicationKey: Key(1), content: content, audience: .list(.active),
            lane: .normal, guarantee: .atLeastOnce, acceptedAt: now, expiresAt: nil)
    }

    /// Sends by a provider that is posted to; returns the last request that arrived.
    static func posted(_ service: Posted, _ content: Push.Content) async throws -> LedgerRequest? {
        var last: LedgerRequest?
        try await TestProviders.run { providers in
            try await service.play { simulator in
                let provider = try simulator.provider(providers)
                let outcomes = await provider.send(
                    push(content, at: providers.clock.now), to: providers.recipients([simulator.token]))
                #expect(outcomes == [.accepted], "\(service)")
                last = simulator.last()
            }
            #expect(providers.errors.isEmpty)
        }
        return last
    }

    static let dataTexts =
        #""category":"NEWS","channel":"offers","image":"https://shop.example/c.jpg","link":"https://shop.example/c?x=1&y=2","message":"Fresh \"cheese\" <&>","receiptId":"\#(receipt)","sound":"default","story":"17","tags":"[\"a\",\"b\"]","thread":"town","title":"جبن 🧀""#

    private static let rows: [(service: Posted, payload: String, headers: [String: String])] = [
        (
            .web,
            #"{"app_badge":3,"mutable":true,"notification":{"body":"Fresh \"cheese\" <&>","data":{"data":{"story":17,"tags":["a","b"]},"receiptId":"\#(receipt)"},"image":"https://shop.example/c.jpg","navigate":"https://shop.example/c?x=1&y=2","tag":"cheese","title":"جبن 🧀"},"receiptId":"\#(receipt)","web_push":8030}"#,
            ["topic": "cheese"]
        ),
        (
            .wns,
            #"<?xml version="1.0" encoding="utf-8"?><toast launch="{&quot;link&quot;:&quot;https://shop.example/c?x=1&amp;y=2&quot;,&quot;story&quot;:17,&quot;tags&quot;:[&quot;a&quot;,&quot;b&quot;]}"><visual><binding template="ToastImageAndText02"><image id="1" src="https://shop.example/c.jpg"/><text id="1">جبن 🧀</text><text id="2">Fresh "cheese" &lt;&amp;></text></binding></visual><audio src="ms-winsoundevent:Notification.Default"/></toast>"#,
            ["x-wns-type": "wns/toast", "x-wns-tag": "cheese"]
        ),
        (
            .mpns,
            #"<?xml version="1.0" encoding="utf-8"?><wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>جبن 🧀</wp:Text1><wp:Text2>Fresh "cheese" &lt;&amp;></wp:Text2><wp:Param>?link=https%3A%2F%2Fshop.example%2Fc%3Fx%3D1%26y%3D2&amp;story=17&amp;tags=%5B%22a%22%2C%22b%22%5D</wp:Param></wp:Toast></wp:Notification>"#,
            ["x-windowsphone-target": "toast"]
        ),
        (.adm, #"{"consolidationKey":"cheese","data":{\#(dataTexts)}}"#, [:]),
        (.pap, "جبن 🧀\nFresh \"cheese\" <&>", [:]),
        (
            .gcm,
            #"{"registration_ids":["t"],"collapse_key":"cheese","data":{\#(dataTexts)},"priority":"high"}"#, [:]
        ),
        (
            .hms,
            #"{"validate_only":false,"message":{"android":{"notification":{"body":"Fresh \"cheese\" <&>","channel_id":"offers","click_action":{"type":2,"url":"https://shop.example/c?x=1&y=2"},"default_sound":true,"image":"https://shop.example/c.jpg","tag":"cheese","title":"جبن 🧀"}},"data":"{\#(dataTexts.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))}","token":["t"]}}"#,
            [:]
        ),
    ]

    @Test(arguments: rows.indices)
    func `one message reaches each provider in its own words`(row: Int) async throws {
        let (service, payload, headers) = Self.rows[row]
        let request = try #require(try await Self.posted(service, Self.content))
        #expect(request.payload == payload)
        for (name, value) in headers { #expect(request.header(name) == value, "\(name)") }
    }

    @Test func `a webhook gets the fields under their own names`() async throws {
        let request = try #require(try await Self.posted(.webhook, Self.content))
        let push = try #require(try JSONValue(json: request.payload.utf8)["push"])
        for (name, value) in Self.content.shared.json { #expect(push[name] == value, "\(name)") }
        #expect(push["badge"] == .integer(3) && push["body"] == .string("Fresh \"cheese\" <&>"))
        let plain = try #require(try await Self.posted(.webhook, Push.Content(body: "b", badge: .set(3))))
        #expect(try JSONValue(json: plain.payload.utf8)["push"]?["badge"] == .integer(3), "\(plain.payload)")
    }

    static func withAPNs(
        _ body: (TestProvider, (String) throws -> LedgerRequest) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.listening.ledgerDetail = .payloads
        configuration.parsesPayloads = true
        let simulator = try await APNsSimulator.start(configuration)
        let credentials = APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID), topic: "org.example.system",
            endpoint: "https://localhost:\(simulator.port)", trustRootsPEM: simulator.trustRootPEM)
        try await TestProvider.with(.ios, credentials) { fixture in
            try await body(fixture) { token in try #require(simulator.ledger.token(Array(token.utf8))?.lastRequest) }
        }
        try await simulator.shutdown()
    }

    @Test func `APNs gets every field in Apple's words`() async throws {
        try await Self.withAPNs { fixture, sent in
            let token = String(repeating: "a", count: 32)
            #expect(await fixture.send([token], content: Self.content) == [.accepted])
            let request = try sent(token)
            #expect(
                request.payload
                    == #"{"aps":{"alert":{"body":"Fresh \"cheese\" <&>","title":"جبن 🧀"},"badge":3,"category":"NEWS","mutable-content":1,"sound":"default","thread-id":"town"},"attachment_url":"https://shop.example/c.jpg","link":"https://shop.example/c?x=1&y=2","receiptId":"\#(Self.receipt)","story":17,"tags":["a","b"]}"#
            )
            #expect(request.header("apns-collapse-id") == "cheese" && request.header("apns-push-type") == "alert")
            let data = Push.Content(body: nil, shared: SharedFields(data: ["story": .integer(17)]))
            #expect(await fixture.send([token], content: data) == [.accepted])
            let silent = try sent(token)
            #expect(silent.header("apns-push-type") == "background" && silent.header("apns-priority") == "5")
        }
    }

    static func withFCM(
        _ kind: PlatformKind, _ body: (TestProvider, (String) throws -> String) async throws -> Void
    ) async throws {
        var configuration = FCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await FCMSimulator.start(configuration)
        let credentials = FCMPlatformCredentials(
            serviceAccount: simulator.serviceAccountJSON, endpoint: simulator.url,
            trustRootsPEM: simulator.trustRootPEM)
        let entered: any PlatformCredentials =
            kind == .android ? AndroidPlatformCredentials.fcm(credentials) : credentials
        try await TestProvider.with(kind, entered) { fixture in
            try await body(fixture) { token in
                try #require(simulator.ledger.token(Array(token.utf8))?.lastRequest?.payload)
            }
        }
        try await simulator.shutdown()
    }

    @Test func `FCM gets every field in Google's words`() async throws {
        try await Self.withFCM(.androidFCM) { fixture, sent in
            #expect(await fixture.send(["t0"], content: Self.content) == [.accepted])
            let t0 = try sent("t0")
            #expect(
                t0
                    == #"{"message":{"token":"t0","android":{"collapse_key":"cheese","notification":{"channel_id":"offers","click_action":"NEWS","notification_count":3,"sound":"default","tag":"cheese"},"priority":"HIGH"},"data":{\#(Self.dataTexts)},"notification":{"body":"Fresh \"cheese\" <&>","image":"https://shop.example/c.jpg","title":"جبن 🧀"}}}"#
            )
            let data = Push.Content(body: nil, shared: SharedFields(data: ["story": .integer(17)]))
            #expect(await fixture.send(["t1"], content: data) == [.accepted])
            let t1 = try sent("t1")
            #expect(
                t1
                    == #"{"message":{"token":"t1","android":{"priority":"NORMAL"},"data":{"receiptId":"\#(Self.receipt)","story":"17"}}}"#
            )
        }
        // An app of GCM's time gets its data only where nothing is for the system to show.
        try await Self.withFCM(.android) { fixture, sent in
            #expect(await fixture.send(["t0"], content: Self.content) == [.accepted])
            let t0 = try sent("t0")
            #expect(
                t0
                    == #"{"message":{"token":"t0","android":{"collapse_key":"cheese","priority":"HIGH"},"data":{\#(Self.dataTexts)}}}"#
            )
        }
    }

    @Test func `each device has its own count and title`() async throws {
        try await Self.withFCM(.androidFCM) { fixture, sent in
            let content = Push.Content(
                body: "b", shared: SharedFields([.title: "{{user.name}}, {{badge}}"]), badge: .add(1), isTemplate: true)
            let recipients = ["Ann \"A\"", "Bén"].enumerated().map { place, name in
                var values = PersonalizedValues.Values(badge: Int64(place) + 7)
                values.attributes = ["name": .text(name)]
                return Recipient(
                    device: Key(Int64(place) + 1), token: DeviceToken(bytes: Array("t\(place)".utf8)),
                    filling: PersonalizedValues(values))
            }
            let outcomes = await fixture.provider.send(Self.push(content, at: .zero), to: recipients)
            #expect(outcomes == [.accepted, .accepted])
            for (place, title) in ["Ann \"A\", 7", "Bén, 8"].enumerated() {
                let payload = try sent("t\(place)")
                let message = try #require(try JSONValue(json: payload.utf8)["message"])
                #expect(message["notification"]?["title"] == .string(title))
                #expect(message["data"]?["title"] == .string(title))
                #expect(message["android"]?["notification"]?["notification_count"] == .integer(Int64(place) + 7))
            }
        }
    }

    /// It was accepted for other platforms: each of these devices has an answer.
    @Test(arguments: [Posted.web, .wns, .mpns, .adm, .pap, .gcm, .hms])
    func `a push too large for a service is refused`(service: Posted) async throws {
        let content = Push.Content(body: String(repeating: "x", count: 8_200))
        try await TestProviders.run { providers in
            try await service.play { simulator in
                let provider = try simulator.provider(providers)
                let outcomes = await provider.send(
                    Self.push(content, at: providers.clock.now), to: providers.recipients([simulator.token]))
                #expect(outcomes == [.refused(.payloadTooLarge)])
                #expect(simulator.last() == nil)
            }
            #expect(providers.errors.isEmpty)
        }
    }

    @Test func `a push too large for APNs or FCM is refused`() async throws {
        let content = Push.Content(body: String(repeating: "x", count: 4_200))
        try await Self.withFCM(.androidFCM) { fixture, _ in
            #expect(await fixture.send(["t"], content: content) == [.refused(.payloadTooLarge)])
        }
        try await Self.withAPNs { fixture, _ in
            let token = String(repeating: "a", count: 32)
            #expect(await fixture.send([token], content: content) == [.refused(.payloadTooLarge)])
        }
    }

    @Test func `a title that would not fit twice is data`() async throws {
        try await Self.withFCM(.androidFCM) { fixture, sent in
            for count in [1_900, 1_990, 2_010, 2_030, 2_040, 2_100] {
                let title = String(repeating: "x", count: count)
                let content = Push.Content(body: nil, shared: SharedFields([.title: title]), badge: .set(3))
                #expect(await fixture.send(["t\(count)"], content: content) == [.accepted], "\(count)")
                let payload = try sent("t\(count)")
                #expect(payload.contains(#""title":"\#(title)""#))
            }
        }
    }
}
