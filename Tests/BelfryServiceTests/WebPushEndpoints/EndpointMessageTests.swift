import BelfryTesting
import FoundationEssentials
import HTTPTypes
import KeyFiles
import Testing

@testable import BelfryService

/// Messages of application servers, as they are read and as apps get them.
@Suite struct EndpointMessageTests {
    private static let salt = "salt=SVzmyN6TpFOehi6GNJk8uw"
    private static let key =
        "dh=BDf5UyzVhK7mT6MSZlSVgnPzKEQlqLmbEsFnBFcSGJJ0T3QyVcnJfcXRQTWoOL1OEELF1bXG6eJmFbEKIv7NhMA"

    @Test(
        arguments: [
            ([.ttl: nil], "TTL is missing"), ([.ttl: ""], "TTL"), ([.ttl: "-1"], "TTL is '-1'"),
            ([.ttl: "1.5"], "TTL"), ([.ttl: "60, 60"], "TTL"), ([.urgency: "urgent"], "Urgency"),
            ([.topic: String(repeating: "x", count: 33)], "Topic has to be 1 to 32"), ([.topic: "a.b"], "Topic"),
            ([.topic: ""], "Topic"), ([.contentEncoding: nil], "Content-Encoding is missing"),
            ([.contentEncoding: "gzip"], "Content-Encoding is 'gzip'"),
            ([.contentEncoding: "aesgcm"], "Encryption has to have salt"),
            ([.contentEncoding: "aesgcm", .encryption: salt], "Crypto-Key has to have dh"),
            ([.contentEncoding: "aesgcm", .encryption: "salt=" + String(repeating: "x", count: 200)], "Encryption"),
        ] as [([HTTPField.Name: String?], String)])
    func `a wrong header is refused by its name`(changes: [HTTPField.Name: String?], words: String) {
        let fault = #expect(throws: InvalidInput.self) {
            try EndpointMessage(WebPushRig.headers(changes), body: [1, 2, 3])
        }
        #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "")")
    }

    @Test(
        arguments: [
            ("0", 0), ("60", 60), ("2419201", 2_419_200), ("99999999999999999999999", 2_419_200),
        ] as [(String, Int64)])
    func `a long time to live is cut`(text: String, seconds: Int64) throws {
        let message = try EndpointMessage(WebPushRig.headers([.ttl: text]), body: [1])
        #expect(message.timeToLive == seconds && message.ciphertext.isStored == (seconds > 0))
        #expect(message.expiry(at: .zero) == .zero + .seconds(max(seconds, 10)))
    }

    @Test(
        arguments: [
            (nil, .normal, .immediate, "high"), ("HIGH", .urgent, .immediate, "high"),
            ("low", .bulk, .considerate, "normal"), ("very-low", .bulk, .low, "normal"),
        ] as [(String?, Lane, ApplePush.Priority, String)])
    func `urgency is priority everywhere`(
        urgency: String?, lane: Lane, apple: ApplePush.Priority, android: String
    ) throws {
        let message = try EndpointMessage(WebPushRig.headers([.urgency: urgency]), body: [1])
        #expect(message.lane == lane)
        #expect(try message.content(for: .ios, at: .sample).apple?.priority == apple)
        let data = try message.content(for: .androidFCM, at: .sample).custom["android"]
        #expect(data?["priority"] == .string(android))
    }

    /// The largest bodies that docs/WebPushEndpoints.md states, with the longest ids.
    @Test(
        arguments: [
            (.ios, 2_950, 2_800), (.androidFCM, 2_990, 2_850), (.android, 2_990, 2_850), (.huawei, 2_830, 2_650),
            (.amazon, 4_096, 4_096), (.windows8, 3_700, 3_550), (.web, 4_096, 4_096), (.webhook, 4_096, 4_096),
        ] as [(PlatformKind, Int, Int)])
    func `every type takes as much as is stated`(kind: PlatformKind, most: Int, mostOlder: Int) throws {
        let older: [HTTPField.Name: String?] = [
            .contentEncoding: "aesgcm", .encryption: Self.salt, .cryptoKey: Self.key, .topic: "t",
        ]
        for (changes, bytes) in [([:], most), (older, mostOlder)] {
            let message = try EndpointMessage(
                WebPushRig.headers(changes), body: [UInt8](repeating: 255, count: bytes))
            let content = try message.content(for: kind, at: .sample)
            #expect(throws: Never.self) { try content.check(for: [kind], receiptID: UUID()) }
            // What is stored is what is sent.
            #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        }
        guard most < 4_000 else { return }
        let large = try EndpointMessage(WebPushRig.headers(), body: [UInt8](repeating: 255, count: most + 100))
        let fault = #expect(throws: InvalidInput.self) {
            try large.content(for: kind, at: .sample).check(for: [kind], receiptID: UUID())
        }
        #expect(fault?.isTooLarge == true)
    }

    @Test func `an iPhone gets a text that its extension replaces`() throws {
        let message = try EndpointMessage(WebPushRig.headers([.topic: "news"]), body: [0, 255, 254])
        let content = try message.content(for: .ios, at: .sample)
        let payload = try JSONValue(
            json: try IOSPayload(content, receiptID: nil, sentAt: .zero).bytes)
        #expect(
            payload
                == .object([
                    "aps": .object(["alert": .string("New message"), "mutable-content": .integer(1)]),
                    "webpush": .string("AP_-"), "webpush_endpoint": .string("\(Int64.max)"),
                ]))
        #expect(content.shared.collapseKey == "\(Int64.max)-news")
        #expect(content.pacing.kind == DeliveryRules.exemptKind)
    }

    @Test func `Android gets data alone, with the headers of aesgcm`() throws {
        let headers = WebPushRig.headers([
            .contentEncoding: "aesgcm", .encryption: "keyid=p256dh;\(Self.salt)",
            .cryptoKey: "keyid=p256dh;\(Self.key),p256ecdsa=BB5cHdd",
        ])
        let content = try EndpointMessage(headers, body: [1]).content(for: .androidFCM, at: .sample)
        let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(payload.isSilent && payload.isHighPriority)
        let texts = Dictionary(uniqueKeysWithValues: payload.data.texts.map { ($0.key, $0.text) })
        #expect(
            texts == [
                "webpush": "AQ", "webpush_endpoint": "\(Int64.max)", "webpush_encoding": "aesgcm",
                "webpush_encryption": "keyid=p256dh;\(Self.salt)", "webpush_crypto_key": "keyid=p256dh;\(Self.key)",
                "priority": "high",
            ])
    }

    @Test func `a key of the sender is not passed on`() throws {
        let headers = WebPushRig.headers([
            .contentEncoding: "aesgcm", .encryption: Self.salt, .cryptoKey: "\(Self.key);p256ecdsa=BB5cHdd",
        ])
        #expect(try EndpointMessage(headers, body: [1]).ciphertext.cryptoKey == Self.key)
    }

    @Test func `a browser gets the ciphertext itself`() throws {
        let content = try EndpointMessage(WebPushRig.headers(), body: [1, 2]).content(for: .web, at: .sample)
        #expect(content.ciphertext?.body == [1, 2] && content.ciphertext?.encoding == "aes128gcm")
        #expect(content.custom.isEmpty && content.isMeant(for: .web))
        #expect(content.shared == SharedFields(data: ["webpush_endpoint": .string("\(Int64.max)")]))
        let empty = try EndpointMessage(WebPushRig.headers([.contentEncoding: nil]), body: [])
        let tickle = try empty.content(for: .web, at: .sample)
        #expect(tickle.ciphertext?.encoding == nil)
        #expect(try Push.Content(stored: Array(tickle.storedText.utf8)) == tickle)
    }

    @Test func `whatever a sender writes in headers is bounded`() throws {
        var random = SplitMix64(seed: 8_030)
        let letters = Array("salt=dh=p256ecdsa=;, keyid\u{1}é0".unicodeScalars)
        for _ in 0..<2_000 {
            func text() -> String {
                let count = Int(random.next() % 40)
                return String(
                    String.UnicodeScalarView(
                        (0..<count).map { _ in letters[Int(random.next() % UInt64(letters.count))] }))
            }
            let changes: [HTTPField.Name: String?] = [
                .contentEncoding: "aesgcm", .encryption: "salt=" + text(), .cryptoKey: "dh=" + text(), .topic: text(),
            ]
            guard let message = try? EndpointMessage(WebPushRig.headers(changes), body: [1]) else { continue }
            let content = try message.content(for: .ios, at: .sample)
            #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        }
    }
}

extension WebPushEndpoint {
    /// With the longest ids.
    static let sample = WebPushEndpoint(
        key: Key(.max), applicationKey: Key(1), platformKey: Key(1), deviceKey: Key(1), device: UUID(), vapidKey: nil,
        isFetched: false, isAlive: true, createdAt: .zero)
}
