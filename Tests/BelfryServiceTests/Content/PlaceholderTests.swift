import FoundationEssentials
import Testing

@testable import BelfryService

@Suite struct PlaceholderTests {
    private static func content(_ body: String) -> Push.Content { Push.Content(body: body, isTemplate: true) }

    private static let filling: PersonalizedValues = {
        var values = PersonalizedValues.Values(badge: 3)
        values.deviceUUID = UUID(words: 1, 2)
        values.userID = "emma&co"
        values.language = "de"
        values.attributes = [
            "name": .text("Anna \"A\" Öz"), "visits": .number(7), "vip": .flag(true), "full name": .text("Anna Öz"),
        ]
        return PersonalizedValues(values)
    }()

    private static let texts: [(written: String, filled: String)] = [
        ("plain", "plain"), ("{one} brace }}", "{one} brace }}"), ("{{badge}}", "3"),
        ("Hi {{ user.name | default: 'you' }}!", "Hi Anna \"A\" Öz!"), ("{{user.none|default:\"you\"}}", "you"),
        ("[{{user.none}}]", "[]"), ("{{ user.visits }} {{user.vip}}", "7 true"), ("{{user.full name}}", "Anna Öz"),
        ("{{user.language}}{{user.time_zone | default: '|}}'}}", "de|}}"), ("{{ '{{' }}name}}", "{{name}}"),
        ("{{device.id}}", UUID(words: 1, 2).lowercased),
        (
            "see https://a.example/?u={{user.id}}&n={{user.name}} {{user.id}}",
            "see https://a.example/?u=emma%26co&n=Anna%20%22A%22%20%C3%96z emma&co"
        ),
        ("/games/{{user.id}}", "/games/emma%26co"), ("/ {{user.id}}", "/ emma&co"),
        ("/games/{{ user.id | default: 'no one' }}/{{ 'a b' }}", "/games/emma%26co/a%20b"),
        ("https://a.example/Games('{{ user.id }}')", "https://a.example/Games('emma%26co')"),
        ("https://a.example/ ({{user.id}})", "https://a.example/ (emma&co)"),
        ("/games/{{ user.id }} now", "/games/emma&co now"), ("/{{ user.id }} x/{{badge}}", "/emma&co x/3"),
        ("{{ user.none | default: '\u{947}\u{902}' }}", "\u{947}\u{902}"), ("{{ \"\u{FE0F}'\" }}", "\u{FE0F}'"),
    ]

    @Test(arguments: texts)
    func `a placeholder becomes the device's value, escaped for its place`(
        written: String, filled: String
    ) throws {
        #expect(try Self.content(written).filled(with: Self.filling).body == filled)
        // Without the flag, braces are braces.
        #expect(try Push.Content(body: written).filled(with: Self.filling).body == written)
        // Stored and read back, it is the same.
        let content = Self.content(written)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
    }

    private static let faults: [(written: String, problem: String)] = [
        ("{{user}}", "names {{user}}, a template has badge, device.id, user.id"), ("{{name}}", "user.NAME"),
        ("{{}}", "a template has badge"), ("{{user.}}", "a template has badge"), ("a {{badge", "has {{ without }}"),
        ("{{badge | upcase}}", "has the filter 'upcase', the filters are default: '…', number"),
        ("{{badge | default: you}}", "filters are"), ("{{user.name | signed_link}}", "it follows a URL in quotes"),
        ("{{'ftp://a' | signed_link}}", "http or https URL"), ("{{'https://a#b' | signed_link}}", "http or https URL"),
        ("{{ 'https://a }}", "has {{ without }}"),
        (String(repeating: "{{badge}}", count: 65), "has 65 placeholders, the limit is 64"),
    ]

    @Test(arguments: faults)
    func `an invalid placeholder is refused with its field and choices`(
        written: String, problem: String
    ) throws {
        let content = Push.Content(
            body: nil, custom: ["ios": .object(["alert": .object(["title": .string(written)])])], isTemplate: true)
        let error = #expect(throws: InvalidInput.self) { try content.check(for: [.ios], receiptID: UUID()) }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
        #expect(error?.field == (problem.contains("65") ? "message" : "message.custom.ios.alert.title"))
    }

    @Test func `a text of braces costs only its length`() {
        let content = Self.content(String(repeating: "x://{{badge", count: 6_000))
        #expect(throws: InvalidInput.self) { try content.check(for: [.ios], receiptID: UUID()) }
        let many = Self.content("x://" + String(repeating: "{{badge}}y", count: 6_000))
        #expect(throws: InvalidInput.self) { try many.check(for: [.ios], receiptID: UUID()) }
    }

    @Test func `content is judged with the longest known values`() throws {
        let long = String(repeating: "a", count: 3_900)
        try Self.content(long).check(for: [.ios], receiptID: UUID())
        #expect(throws: InvalidInput.self) {
            try Self.content(long + "{{device.id}}{{user.time_zone}}{{user.language}}").check(
                for: [.ios], receiptID: UUID())
        }
        try Self.content(long + "{{user.name}}").check(for: [.ios], receiptID: UUID())
    }

    @Test func `a signed link tells whom it was sent to`() throws {
        let head = PushHead(
            key: Key(1), receiptID: UUID(words: 9, 9), applicationKey: Key(1), lane: .normal, guarantee: .atLeastOnce,
            acceptedAt: Instant(milliseconds: 1_000_000), expiresAt: nil)
        let filling = PersonalizedValues(Self.filling.values, links: LinkSigner(push: head) { "<\($0.utf8.count)>" })
        let link = try #require(
            try Self.content("{{ 'https://a.example/x?y=1' | signed_link }}").filled(with: filling).body)
        let signed =
            "https://a.example/x?y=1&device=\(UUID(words: 1, 2).lowercased)&user=emma%26co&"
            + "push=\(UUID(words: 9, 9).lowercased)&expires=2593000"
        #expect(link == "\(signed)&signature=<\(signed.utf8.count)>")
    }

    // MARK: Encoded once

    private static func spliced(_ content: Push.Content, _ render: (Push.Content) throws -> [UInt8]) throws -> [UInt8] {
        let template = try #require(try ContentTemplate(content))
        let payload = PayloadTemplate(try render(template.content), template)
        return try #require(payload.payload(for: filling, bytesMax: .max))
    }

    private static let hostile = "q \" b \\ n \n < & ' é \u{1F600} {{user.name}} /"

    @Test func `a spliced payload equals the rendered one`() throws {
        let custom: JSONObject = [
            "ios": .object([
                "alert": .object(["title": .string(hostileTitle), "body": .string("https://a/{{user.name}}")]),
                "badge": .string("+2"),
                "extra": .object(["deep": .array([.object(["x": .string("{{badge}}|{{user.id}}")])])]),
            ])
        ]
        let content = Push.Content(body: "{{user.name}}", custom: custom, isTemplate: true)
        let render = { (content: Push.Content) in
            try IOSPayload(content, receiptID: UUID(words: 5, 5), sentAt: .zero).bytes
        }
        #expect(try Self.spliced(content, render) == render(try content.filled(with: Self.filling)))
    }

    private var hostileTitle: String { Self.hostile }

    @Test func `text within JSON within JSON is escaped twice`() throws {
        let content = Push.Content(
            body: nil,
            custom: [
                "android": .object(["flat": .object(["a": .string(Self.hostile)]), "b": .string("{{user.name}}")])
            ],
            isTemplate: true)
        let render = { (content: Push.Content) -> [UInt8] in
            let data = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero).data
            return JSONValue.object(data).encoded
        }
        #expect(try Self.spliced(content, render) == render(try content.filled(with: Self.filling)))
        let template = try #require(try ContentTemplate(content))
        let marked = try AndroidPayload(template.content, kind: .androidFCM, receiptID: nil, sentAt: .zero).data
        let filled = try AndroidPayload(
            try content.filled(with: Self.filling), kind: .androidFCM, receiptID: nil, sentAt: .zero
        ).data
        let bytes = { (data: JSONObject) in data.texts.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count } }
        let payload = PayloadTemplate(try render(template.content), template)
        #expect(payload.innerBytes(of: bytes(marked), for: Self.filling) == bytes(filled))
    }

    @Test func `a web payload is spliced and its badge numeric`() throws {
        let web = try WebMessage(
            try JSONValue(
                json: #"{"title":"{{user.name}}","navigate":"/u/{{user.id}}","app_badge":"+1"}"#.utf8))
        let content = Push.Content(body: nil, web: web, isTemplate: true)
        let payload = try JSONValue(
            json: try Self.spliced(content) { try WebPayload($0, receiptID: nil).bytes })
        #expect(payload["app_badge"] == .integer(3))
        #expect(payload["notification"]?["title"] == .string("Anna \"A\" Öz"))
        #expect(payload["notification"]?["navigate"] == .string("/u/emma%26co"))
    }

    private static let links: [(written: String, navigate: String)] = [
        ("{{'https://a.example/' | signed_link}}", "https://a.example/"), ("{{values.page}}", "https://a.example/v"),
        ("{{values.page}}/x", "https://a.example/v/x"), ("{{values.place}}", "/"), ("shop://{{user.id}}", "/"),
        ("https://a.example/{{user.id}}", "https://a.example/emma%26co"),
    ]

    @Test(arguments: links)
    func `a browser opens a filled link that is a page`(written: String, navigate: String) throws {
        var content = Push.Content(body: nil, shared: SharedFields([.title: "t", .link: written]), isTemplate: true)
        content.values = ["page": .text("https://a.example/v"), "place": .text("shop://a")]
        let payload = try JSONValue(json: try Self.spliced(content) { try WebPayload($0, receiptID: nil).bytes })
        #expect(payload["notification"]?["navigate"] == .string(navigate))
        let filled = try WebPayload(try content.filled(with: Self.filling), receiptID: nil).bytes
        #expect(try JSONValue(json: filled) == payload)
    }

    @Test func `Apple's format counts badges; a payload sent unchanged does not`() throws {
        let json = #"{"payload":{"aps":{"alert":"hi","badge":"+1"},"app":"{{device.id}}"}}"#
        let apple = try ApplePush(try JSONValue(json: json.utf8))
        let content = Push.Content(body: nil, apple: apple, isTemplate: true)
        let payload = try JSONValue(
            json: try Self.spliced(content) { try IOSPayload($0, receiptID: nil, sentAt: .zero).bytes })
        #expect(payload["aps"]?["badge"] == .integer(3))
        #expect(payload["app"] == .string(UUID(words: 1, 2).lowercased))
        #expect(content.badgeChange(on: .ios) == .add(1))
        let verbatim = ApplePush(verbatim: apple.payload, for: .app, isConsiderate: false, isStored: true)
        #expect(Push.Content(body: nil, apple: verbatim).badgeChange(on: .ios) == nil)
        #expect(!Push.Content(body: nil, apple: verbatim).isPersonal)
    }

    @Test func `an oversized device is reported apart; literal braces stay`() throws {
        let own = String(decoding: [0xEF, 0xB7, 0x90] + Array("7\"".utf8) + [0xEF, 0xB7, 0x91], as: UTF8.self)
        let content = Self.content("\(own) {{user.name}}")
        let template = try #require(try ContentTemplate(content))
        let bytes = try IOSPayload(template.content, receiptID: nil, sentAt: .zero).bytes
        let payload = PayloadTemplate(bytes, template)
        let whole = try #require(payload.payload(for: Self.filling, bytesMax: 4_096))
        #expect(try JSONValue(json: whole)["aps"]?["alert"] == .string("\(own) Anna \"A\" Öz"))
        #expect(payload.payload(for: Self.filling, bytesMax: whole.count - 1) == nil)
        #expect(payload.payload(for: Self.filling, bytesMax: whole.count) == whole)
    }

    @Test func `a push for all the same has no template`() throws {
        #expect(
            try ContentTemplate(Push.Content(body: "{{badge}}", custom: ["ios": .object(["badge": .integer(5)])]))
                == nil)
        let template = try #require(try ContentTemplate(Self.content("no braces")))
        let bytes = try IOSPayload(template.content, receiptID: nil, sentAt: .zero).bytes
        #expect(PayloadTemplate(bytes, template).isConstant)
    }

    // MARK: Badges

    @Test(arguments: ["+0", "+", "+1000001", "+ 1", "+1.5", "+99999999999999999999"])
    func `a badge counts up by a whole number`(text: String) {
        let content = Push.Content(body: "x", custom: ["ios": .object(["badge": .string(text)])])
        let error = #expect(throws: InvalidInput.self) { try content.check(for: [.ios], receiptID: UUID()) }
        #expect(error?.description.contains("it counts up by +1 to +1000000") == true)
        #expect(throws: InvalidInput.self) { try BadgeChange(.string(text), field: "message.badge") }
    }

    @Test func `a platform's badge overrides the shared one`() throws {
        let content = Push.Content(body: "x", custom: ["ios": .object(["badge": .string("5")])], badge: .add(2))
        #expect(content.badgeChange(on: .ios) == .set(5))
        #expect(content.badgeChange(on: .androidFCM) == .add(2))
        #expect(Push.Content(body: "x").badgeChange(on: .ios) == nil)
        let plain = Push.Content(body: "x", badge: .set(4))
        let payload = try JSONValue(json: try IOSPayload(plain, receiptID: nil, sentAt: .zero).bytes)
        #expect(payload["aps"]?["badge"] == .integer(4))
    }

    @Test func `several pushes' badges are computed back from the last number`() {
        let (a, b) = (Key<Device>(1), Key<Device>(2))
        let count = BadgeCount(isAdding: true, [(1, [a, b]), (3, [a]), (1, [b, a])])
        #expect(count.steps.map(\.number) == [2, 5])
        #expect(count.steps.map(\.devices) == [[b], [a]])
        #expect(count.numbers([a: 15, b: 2]) == [[11, 1], [14], [2, 15]])
        let set = BadgeCount(isAdding: false, [(7, [a]), (2, [a, b])])
        #expect(set.steps.map(\.number) == [2] && set.steps[0].devices == [a, b])
        #expect(set.numbers([:]) == [[7], [2, 2]])
    }

    @Test func `badges are stored and read back, and damage is noticed`() {
        let numbers: [Int64] = [0, 1, 127, 128, 16_384, BadgeChange.keptMax]
        let bytes = BadgeList.encode(numbers)
        #expect(BadgeList.decode(bytes, count: 6) == numbers)
        #expect(BadgeList.decode(bytes, count: 5) == nil)
        #expect(BadgeList.decode(bytes.dropLast(), count: 6) == nil)
        #expect(BadgeList.decode([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], count: 1) == nil)
    }
}
