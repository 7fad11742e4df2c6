import BelfryService
import FoundationEssentials
import Testing

@Suite struct WebMessageTests {
    private static let receipt = UUID()

    private static func message(_ json: String) throws -> WebMessage { try WebMessage(try JSONValue(json: json.utf8)) }

    private static func payload(_ json: String) throws -> JSONValue {
        let content = Push.Content(body: nil, web: try message(json))
        return try JSONValue(json: try WebPayload(content, receiptID: receipt).bytes)
    }

    @Test func `a notification becomes a declarative message with the receipt id`() throws {
        let payload = try Self.payload(
            """
            {"title":"Goal","body":"1:0","navigate":"/game/7","topic":"game_7","app_badge":3,"require_interaction":true,
             "data":{"game":7},"actions":[{"action":"mute","title":"Mute","navigate":"/mute"}],"urgency":"very-low","ttl":0}
            """)
        #expect(payload["web_push"] == .integer(8_030))
        #expect(payload["app_badge"] == .integer(3))
        #expect(payload["mutable"] == .bool(true))
        let notification = try #require(payload["notification"])
        #expect(notification["title"] == .string("Goal"))
        #expect(notification["navigate"] == .string("/game/7"))
        #expect(notification["tag"] == .string("game_7"))
        #expect(notification["requireInteraction"] == .bool(true))
        #expect(notification["data"]?["receiptId"] == .string(Self.receipt.lowercased))
        #expect(notification["data"]?["data"] == .object(["game": .integer(7)]))
        for absent in ["topic", "urgency", "ttl", "require_interaction", "app_badge"] {
            #expect(notification[absent] == nil, "\(absent)")
        }
    }

    @Test func `a declarative message always has a target`() throws {
        _ = try Self.message(#"{"title":"t","navigate":"{{'https://a.example' | signed_link}}"}"#)
        _ = try Self.message(#"{"title":"t","navigate":"/u/{{ user.id | default: 'a b' }}"}"#)
        #expect(try Self.payload(#"{"title":"Hi"}"#)["notification"]?["navigate"] == .string("/"))
    }

    @Test func `empty texts are filled in from the message`() throws {
        let content = Push.Content(
            body: "b", shared: SharedFields([.title: "T"]), web: try Self.message(#"{"title":"","body":""}"#))
        let shown = try JSONValue(json: WebPayload(content, receiptID: nil).bytes)["notification"]
        #expect(shown?["title"] == .string("T") && shown?["body"] == .string("b"))
    }

    @Test(
        arguments: [
            #"{}"#: "title", #"{"title":7}"#: "title", #"{"title":"t","titel":"x"}"#: "titel",
            #"{"title":"t","icon":"javascript:alert(1)"}"#: "icon",
            #"{"title":"t","navigate":"//evil.example/"}"#: "navigate",
            #"{"title":"t","navigate":"/\\evil.example/"}"#: "navigate",
            #"{"title":"t","navigate":"http://shop.example/"}"#: "navigate",
            #"{"title":"t","navigate":"{{'https://a.example' | number | default: 'javascript:x'}}"}"#: "navigate",
            #"{"title":"t","navigate":"{{ values.url | default: 'https://a.example' }}"}"#: "navigate",
            #"{"title":"t","image":"data:image/png;base64,AA"}"#: "image", #"{"title":"t","dir":"up"}"#: "dir",
            #"{"title":"t","silent":"yes"}"#: "silent", #"{"title":"t","topic":""}"#: "topic",
            #"{"title":"t","topic":"a b"}"#: "topic", #"{"title":"t","urgency":"urgent"}"#: "urgency",
            #"{"title":"t","topic":"123456789012345678901234567890123"}"#: "topic",
            #"{"title":"t","ttl":-1}"#: "ttl", #"{"title":"t","ttl":2419201}"#: "ttl",
            #"{"title":"t","ttl":0.5}"#: "ttl", #"{"title":"t","app_badge":1000000}"#: "app_badge",
            #"{"title":"t","actions":[{"action":"a"}]}"#: "actions[0]",
            #"{"title":"t","actions":["a"]}"#: "actions[0]",
            #"{"title":"t","actions":[{"action":"a","title":"A","url":"/"}]}"#: "actions[0].url",
            #"{"title":"t","actions":[1,2,3,4,5]}"#: "actions",
        ])
    func `a field browsers would not understand is refused by name`(written: String, field: String) throws {
        let error = try #require(throws: InvalidInput.self) { try Self.message(written) }
        #expect(error.field == "message.web.\(field)", "\(error)")
    }

    @Test func `members that are null count as missing`() throws {
        let message = try Self.message(
            #"{"title":"t","icon":null,"topic":null,"ttl":null,"urgency":null,"app_badge":null}"#)
        #expect(message.notification == ["title": .string("t")])
        #expect(message.topic == nil && message.ttl == nil && message.urgency == nil && message.appBadge == nil)
    }

    @Test func `the stored form is read back as it was`() throws {
        let message = try Self.message(
            #"{"title":"t","data":[1,{"a":null}],"topic":"x","ttl":0,"urgency":"very-low","app_badge":0}"#)
        let content = Push.Content(body: "text", web: message)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        #expect(try WebMessage(message.json) == message)
    }

    @Test func `a message for the web alone goes to browsers alone`() throws {
        let web = try Self.message(#"{"title":"t"}"#)
        let alone = Push.Content(body: nil, web: web)
        #expect(PlatformKind.allCases.filter(alone.isMeant) == [.web, .webFCM])
        let beside = Push.Content(body: "text", web: web)
        #expect(beside.isMeant(for: .web) && beside.isMeant(for: .ios) && beside.isMeant(for: .android))
        #expect(throws: InvalidInput.self) { try alone.check(for: [.ios], receiptID: UUID()) }
        try beside.check(for: [.web, .ios, .android], receiptID: UUID())
        // FCM refuses its own keys in data, and a browser's push service does not.
        for content in [
            Push.Content(body: "text", shared: SharedFields([.title: "t"], data: ["from": .string("x")])),
            Push.Content(body: "text", custom: ["web": .object(["google.x": .string("x")])]),
            Push.Content(body: "text", web: try Self.message(#"{"title":"t","data":{"from":1}}"#)),
        ] {
            try content.check(for: [.web], receiptID: UUID())
            #expect(throws: InvalidInput.self) { try content.check(for: [.webFCM], receiptID: UUID()) }
        }
    }

    @Test func `one that is too large is refused at acceptance`() throws {
        let long = String(repeating: "x", count: 4_000)
        let content = Push.Content(body: nil, web: try Self.message(#"{"title":"\#(long)"}"#))
        #expect(throws: InvalidInput.self) { try content.check(for: [.web], receiptID: UUID()) }
    }
}

@Suite struct WebAccessTests {
    @Test func `a registration key names its platform`() throws {
        let platform = UUID()
        let key = RegistrationKey(for: platform, random: UUID())
        #expect(RegistrationKey(key.text)?.platform == platform)
        #expect(RegistrationKey(key.text) == key)
        for wrong in ["", "pk_", String(key.text.dropLast()), key.text + "0", "sk_" + key.text.dropFirst(3)] {
            #expect(RegistrationKey(wrong) == nil, "\(wrong)")
        }
    }

    @Test(arguments: [
        "https://shop.example": "https://shop.example", "https://Shop.Example:443": "https://shop.example",
        "https://shop.example:8443": "https://shop.example:8443", "http://localhost:3000": "http://localhost:3000",
        "http://127.0.0.1": "http://127.0.0.1", "http://[::1]:80": "http://[::1]",
    ])
    func `an origin is kept as browsers write it`(written: String, text: String) throws {
        #expect(try WebOrigin(written).text == text)
    }

    @Test(arguments: [
        "", "shop.example", "http://shop.example", "https://", "https://:80", "https://shop.example/", "null", "*",
        "https://a.example https://b.example", "http://localhost.evil.example", "https://shop.example?x",
        "https://" + String(repeating: "a", count: 300),
    ])
    func `an origin without TLS is refused`(written: String) {
        #expect(throws: InvalidInput.self) { try WebOrigin(written) }
    }
}
