import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct ExpressionTests {
    private func read(_ json: String) throws -> AudienceExpression {
        try AudienceExpression(json: JSONValue(json: json.utf8), field: "where")
    }

    @Test func `without campaigns no values are counted`() async throws {
        let users = (0..<AudienceExpression.resolvedValuesMax).map { "u\($0)" }
        let expression = try Target(topics: ["news"], customUserIDs: users).asExpression
        let written = try await expression.withCampaigns { _ in nil }
        #expect(written == expression)
    }

    @Test func `the product manager's question has both forms`() throws {
        let expression = try read(
            """
            {"all":[{"topic":"news"},{"not":{"topic":"sports"}},{"platform":["android-fcm"]},{"language":"de"},
            {"app_version":{">=":"5"}},{"attribute":"country","=":"DE"},{"last_seen":{"within":"P30D"}}]}
            """)
        let text =
            "topic:news -topic:sports platform:android-fcm lang:de version>=5 attr.country:DE seen:P30D"
        #expect(expression.text == text)
        #expect(try AudienceExpression(text: text, field: "where") == expression)
    }

    @Test func `any expression prints itself in both forms`() throws {
        for seed in 0..<3_000 as Range<UInt64> {
            var dice = SplitMix64(seed: seed)
            let expression = AudienceExpression.random(&dice, depth: 4)
            let text = expression.text
            #expect(try AudienceExpression(text: text, field: "where").simplified == expression.simplified, "\(text)")
            #expect(try AudienceExpression(json: expression.json, field: "where") == expression, "\(text)")
            let stored = Audience.meant(by: expression, .list(.active)).storedText
            #expect(try Audience(stored: Array(stored.utf8)) == .meant(by: expression, .list(.active)))
        }
    }

    @Test(arguments: [
        (#"{"all":[]}"#, "where.all is empty"), (#"{"topics":["a"]}"#, "topics"), (#"{"topic":""}"#, "empty"),
        (#"{"topic":[]}"#, "where.topic is empty"), (#"{"topic":"a","user":"b"}"#, "combine terms"),
        (#"{"app_version":{">=":"x"}}"#, "begins with a number"),
        (#"{"last_seen":{"within":"P1M"}}"#, "time span"), (#"{"country":{">":"A"}}"#, "by order"),
        (#"{"attribute":"a"}"#, "nothing"), (#"{"attribute":"a","~":1}"#, "~"),
        (#"{"platform":"ihpone"}"#, "has to be one of"),
        (#"{"language":{"within":"P1D"}}"#, "last_seen alone"), (#"{"created":"2026-01-01T00:00:00Z"}"#, "within"),
        (#"{"last_seen":{"=":"2026-01-01T00:00:00Z"}}"#, "no test of a time"), (#""created:monday""#, "time span"),
        (#"{"geofence":0}"#, "no id of a geofence"), (#"{"geofence":[1.5]}"#, "string"), (#""geofence:shop""#, "no id"),
        (#"{"opened_campaign":["a","b"]}"#, "name of a campaign"), (#""sent_campaign:a,b""#, "takes one value"),
        (#"{"opened":7}"#, "string"), (#""received:x""#, "no UUID"),
        (#"{"device":"x"}"#, "no UUID"), (#"[]"#, "an array"),
        (#"{"not":[]}"#, "an array"), (#"{"attribute":"a","=":{"time":"x"}}"#, "time"),
        (#""topic:news )""#, "`)`"), (#""(topic:news""#, "missing"), (#""colour:red""#, "no term"),
        (#""topic""#, "no value"),
        (#""topic:\"a""#, "quotation mark"), (#""seen:monday""#, "time span"), (#""""#, "missing"),
        (#"{"language":"de\u0001"}"#, "control character"), (#"{"model":" "}"#, "blank"),
        (#"{"os":"\u0003"}"#, "control character"),
    ])
    func `an expression that nobody understands is refused with words`(json: String, words: String) {
        #expect {
            _ = try read(json)
        } throws: { "\($0)".contains(words) }
    }

    @Test(arguments: ["opened_campaign:spring", #"-sent_campaign:"two words""#, "received_campaign:spring"])
    func `campaign terms print themselves in both forms`(text: String) throws {
        let expression = try AudienceExpression(text: text, field: "where")
        #expect(expression.text == text)
        #expect(try AudienceExpression(json: expression.json, field: "where") == expression)
    }

    @Test(arguments: ["\u{301}x", "a\"\u{301}", "\\\u{301}", "neu\u{A0}ulm", "a\u{2003}b"])
    func `any name prints itself in both forms`(name: String) throws {
        let plan = AudienceExpression.term(.property(.attribute(name), .equals([.text(name)])))
        let user = AudienceExpression.term(.property(.userAttribute(name), .exists))
        let expression = AudienceExpression.all([.term(.topics([name])), plan, user])
        #expect(try AudienceExpression(text: expression.text, field: "where") == expression, "\(expression.text)")
        #expect(try AudienceExpression(json: expression.json, field: "where") == expression)
    }

    @Test(arguments: ["\u{A0}", "\u{2003}", "\u{3000}", "\t\u{202F} "])
    func `blanks of any kind separate terms`(blank: String) throws {
        let text = "-topic:news\(blank)-topic:\"a\u{A0}\\\"b\"\(blank)imported"
        let topics = ["news", "a\u{A0}\"b"].map { AudienceExpression.not(.term(.topics([$0]))) }
        #expect(try AudienceExpression(text: text, field: "where") == .all(topics + [.term(.imported)]))
    }

    @Test func `a platform that is named again is one`() throws {
        #expect(try read(#"{"platform":["ios","web","ios"]}"#) == .term(.platforms([.ios, .web])))
        #expect(try Target(platforms: [.ios, .web, .ios]).platforms == [.ios, .web])
    }

    @Test func `depth, terms and values have limits`() {
        let term = #"{"topic":"a"}"#
        let deep = String(repeating: #"{"not":"#, count: 9) + term + String(repeating: "}", count: 9)
        #expect(throws: InvalidInput.self) { try read(deep) }
        let wide = "{\"any\":[" + Array(repeating: term, count: 65).joined(separator: ",") + "]}"
        #expect(throws: InvalidInput.self) { try read(wide) }
        let long = "{\"topic\":[" + (0...1_024).map { "\"t\($0)\"" }.joined(separator: ",") + "]}"
        #expect(throws: InvalidInput.self) { try read(long) }
        let user = "\"user:\(String(repeating: "u", count: Registration.customUserIDCharactersMax + 1))\""
        #expect(throws: InvalidInput.self) { try read(user) }
        let parentheses = String(repeating: "(", count: 8_000)
        #expect(throws: InvalidInput.self) { try AudienceExpression(text: parentheses, field: "where") }
        #expect(throws: InvalidInput.self) {
            try AudienceExpression(text: String(repeating: "-", count: 8_000) + "imported", field: "where")
        }
    }

    @Test func `the deepest audience is read back`() throws {
        var expression = AudienceExpression.term(.topics(["a"]))
        for _ in 0..<4 * AudienceExpression.depthMax {
            expression = .any([.not(.all([expression, .term(.users(["u"]))])), .term(.imported)])
        }
        let audience = expression.audience(in: AudienceWorld(platforms: [], devices: [:], now: .zero))
        #expect(try Audience(stored: Array(audience.storedText.utf8)) == audience)
    }

    @Test func `a stored expression is read back, however large`() async throws {
        let devices = (0..<4_096).map { _ in UUID() }
        let target = Target(try Target(devices: devices).asExpression)
        #expect(try Target(stored: Array(target.storedText.utf8)) == target)
        let world = AudienceWorld(platforms: [], devices: [devices: [Key(1)]], now: .zero)
        let audience = Audience.meant(by: target.asExpression, target.asExpression.audience(in: world))
        #expect(try Audience(stored: Array(audience.storedText.utf8)) == audience)
        var deep = AudienceExpression.term(.segment("next"))
        for _ in 0..<6 { deep = .not(deep) }
        let ends = ["a", "b", "c"]
        let wide = { (name: String) in AudienceExpression.all((0..<64).map { .term(.topics(["\(name)\($0)"])) }) }
        let both = AudienceExpression.any(ends.map { .not(.not(.term(.segment($0)))) })
        let resolved = try await deep.resolved { name in name == "next" ? both : wide(name) }
        #expect(try AudienceExpression(stored: JSONValue(json: resolved.json.storedText.utf8)) == resolved)
    }

    @Test func `the deepest written-out expression is read back with a share`() throws {
        var deep = AudienceExpression.not(.term(.everyone))
        while deep.depth < AudienceExpression.resolvedDepthMax { deep = .any([deep, .term(.topics(["a"]))]) }
        let share = AudienceExpression.term(.share(AudienceShare(seed: "spring", from: 0, to: 5)))
        let target = Target(.all([.not(deep), share]))
        #expect(try Target(stored: Array(target.storedText.utf8)) == target)
    }

    @Test func `a campaign without pushes has reached nobody`() async throws {
        let expression = try await AudienceExpression.not(.term(.campaign(nil, "spring"))).withCampaigns { _ in [] }
        #expect(expression == .not(.not(.term(.everyone))))
        #expect(try AudienceExpression(stored: expression.json) == expression)
    }

    @Test func `an estimate that finds nobody has a margin`() {
        let size = AudienceEstimate.size(last: 10_000_000) { _, _ in 0 }
        #expect(size.devices == 0 && size.margin == 229)
    }

    @Test func `segments together have a limit on values`() async throws {
        let values = AudienceExpression.term(.topics((0..<1_024).map { "t\($0)" }))
        let four = AudienceExpression.all((0..<4).map { .term(.segment("s\($0)")) })
        #expect(try await four.resolved { _ in values }.valueCount == 4_096)
        let five = AudienceExpression.all((0..<5).map { .term(.segment("s\($0)")) })
        await #expect(throws: InvalidInput.self) { _ = try await five.resolved { _ in values } }
    }

    @Test(arguments: [
        ("PT10M", "10 minutes"), ("P1D", "1 day"), ("PT24H", "1 day"), ("P2W", "14 days"), ("PT90M", "90 minutes"),
        ("P1DT1S", "86,401 seconds"), ("PT1H", "1 hour"),
    ])
    func `a time span has words`(text: String, words: String) throws {
        #expect(try TimeSpan(text, field: "").words == words)
    }

    @Test func `the longest time span is read back`() throws {
        let audience = try read(#"{"last_seen":{"within":"P1000000W"}}"#)
            .audience(in: AudienceWorld(platforms: [], devices: [:], now: Instant(milliseconds: 1_800_000_000_000)))
        #expect(try Audience(stored: Array(audience.storedText.utf8)) == audience)
    }

    @Test func `languages of Java and POSIX are tags`() {
        #expect(DeviceLabel.language("de_AT") == DeviceLabel.language("de-AT"))
    }

    @Test func `versions are ordered by their numbers`() {
        let ascending = ["0.9", "1", "1.0.1", "1.9", "1.10", "2-beta", "2.0.1", "10", "2024.1.15"]
        for (left, right) in zip(ascending, ascending.dropFirst()) {
            #expect(VersionOrder(left)! < VersionOrder(right)!, "\(left) before \(right)")
        }
        #expect(VersionOrder("5") == VersionOrder("v5.0.0"))
        #expect(VersionOrder("beta") == nil)
    }

    @Test func `a profile is read back from its labels`() throws {
        var profile = DeviceProfile()
        profile.appVersion = "5.10.1-rc"
        profile.country = "AT"
        profile.attributes = [
            "plan": [.text("Pro \"x\"")], "accent": [.text("\u{301}x")], "age": [.number(-3.5)], "paid": [.flag(true)],
            "since": [.time(Instant(milliseconds: -1))],
        ]
        let labels = profile.labels(DeviceDetail.Change(language: "de-AT"))
        let read = DeviceProfile(labels: labels.names)
        #expect(read == profile)
    }
}

extension AudienceExpression {
    static let attributes: [(String, [UserAttribute])] = [
        ("plan", [.text("free"), .text("pro"), .text("18"), .text("a, \"b\" c")]),
        ("age", [.number(-1), .number(0), .number(17.5), .number(18), .number(1e9)]),
        ("paid", [.flag(true), .flag(false)]),
        ("since", [.time(Instant(milliseconds: 0)), .time(Instant(milliseconds: 1_700_000_000_000))]),
        ("odd name", [.text("-x"), .text("*"), .text("true")]),
    ]
    static let topics = ["news", "sports", "town hall", "zoo"]
    static let users = ["Kim", "Lee", "a:b"]
    static let languages = ["de", "de-AT", "en", "fr"]
    static let zones = ["Europe/Vienna", "Asia/Tokyo"]
    static let countries = ["AT", "DE"]
    static let versions = ["4.9", "5", "5.0", "5.10", "6.1-beta", "nightly"]
    static let systems = ["8.0", "9", "17.5.1"]
    static let models = ["Pixel 9", "iPhone17,1"]
    static let kinds = [PlatformKind.ios, .androidFCM, .android, .web]
    static let times = [Instant(milliseconds: 1_700_000_000_000), Instant(milliseconds: 1_700_000_005_000)]

    /// Things that a random expression names.
    struct Named {
        var devices: [UUID] = []
        var pushes = [UUID(), UUID()]
        var geofences = [Key<Geofence>(17), Key(4)]
        var times = AudienceExpression.times
    }

    static func random(_ dice: inout SplitMix64, depth: Int, devices: Named = Named()) -> AudienceExpression {
        if depth > 0, dice.chance(0.6) {
            let count = dice.draw(1...3)
            switch dice.below(3) {
            case 0: return .not(random(&dice, depth: depth - 1, devices: devices))
            case 1: return .all((0..<count).map { _ in random(&dice, depth: depth - 1, devices: devices) })
            default: return .any((0..<count).map { _ in random(&dice, depth: depth - 1, devices: devices) })
            }
        }
        return .term(term(&dice, devices))
    }

    private static func some<Value>(_ values: [Value], _ dice: inout SplitMix64) -> [Value] {
        let first = dice.below(values.count)
        return first + 1 < values.count && dice.chance(0.3) ? Array(values[first...(first + 1)]) : [values[first]]
    }

    private static func term(_ dice: inout SplitMix64, _ named: Named) -> AudienceTerm {
        let comparison = dice.pick(PropertyTest.Comparison.allCases)
        let devices = named.devices
        switch dice.below(21) {
        case 0: return .everyone
        case 1, 2: return .topics(some(topics, &dice))
        case 3: return .users(some(users, &dice))
        case 4: return .platforms([dice.pick(kinds)])
        case 5: return .property(.language, .equals(some(languages.map { .text($0) }, &dice)))
        case 6: return .property(.timeZone, .equals([.text(dice.pick(zones))]))
        case 7: return .property(.country, dice.chance(0.2) ? .exists : .equals([.text(dice.pick(countries))]))
        case 8: return .property(.appVersion, .compare(comparison, .text(dice.pick(versions.dropLast()))))
        case 9:
            return .property(.appVersion, dice.chance(0.2) ? .exists : .equals(some(versions.map { .text($0) }, &dice)))
        case 10: return .property(.osVersion, .compare(comparison, .text(dice.pick(systems))))
        case 11: return .property(.model, .equals([.text(dice.pick(models))]))
        case 12: return .imported
        case 13 where !devices.isEmpty: return .devices(some(devices, &dice))
        case 13: return .property(.lastSeen, .compare(comparison, .time(dice.pick(named.times))))
        case 14 where dice.chance(0.2): return .property(.created, .exists)
        case 14: return .property(.created, .compare(comparison, .time(dice.pick(named.times))))
        case 15:
            guard let span = try? TimeSpan(dice.chance(0.5) ? "PT20M" : "P1DT1H", field: "") else { return .everyone }
            return .property(dice.chance(0.5) ? .created : .lastSeen, .within(span))
        case 16: return .reported(dice.pick(PushReport.allCases), some(named.pushes, &dice))
        case 17: return .geofences(some(named.geofences, &dice))
        case 18:
            let from = dice.below(100)
            return .share(
                AudienceShare(seed: dice.pick(["a b", "spring"]), from: from, to: dice.draw((from + 1)...100)))
        default:
            let (name, values) = dice.pick(attributes)
            let property = dice.chance(0.3) ? DeviceProperty.userAttribute(name) : .attribute(name)
            if dice.chance(0.15) { return .property(property, .exists) }
            if case .flag = values[0] { return .property(property, .equals(some(values, &dice))) }
            return dice.chance(0.5)
                ? .property(property, .equals(some(values, &dice)))
                : .property(property, .compare(comparison, dice.pick(values)))
        }
    }
}

extension SplitMix64 {
    fileprivate mutating func pick<Item>(_ items: ArraySlice<Item>) -> Item { pick(Array(items)) }
}
