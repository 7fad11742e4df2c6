import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Placeholders with a form: a number, a plural, a date.
@Suite struct ValueFormTests {
    private static func content(
        _ body: String, language: String? = "en", values: [String: UserAttribute] = [:]
    ) -> Push.Content {
        var content = Push.Content(body: body, isTemplate: true)
        (content.language, content.values) = (language, values)
        return content
    }

    private static func values(_ zone: String? = "Europe/Vienna", _ language: String? = nil) -> PersonalizedValues {
        var values = PersonalizedValues.Values(badge: 3)
        (values.timeZone, values.language) = (zone, language)
        values.attributes = [
            "visits": .number(1_234.5), "one": .number(1), "text": .text("21"), "word": .text("many"),
            "yes": .flag(true),
            "since": .time(Instant(milliseconds: 1_772_321_400_000)), "day": .text("2027-03-01"),
            "at": .text("2027-03-01T23:30"), "instant": .text("2027-03-01T23:30:00Z"),
        ]
        return PersonalizedValues(values)
    }

    private static let plural = "plural: =0: 'no messages', one: '# message', other: '# messages'"

    @Test(arguments: [
        ("{{ user.visits | number }}", "1,234.5"), ("{{user.visits|number:2}}", "1,234.50"),
        ("{{ user.text | number }}", "21"), ("{{ user.word | number | default: 'none' }}", "none"),
        ("{{ user.yes | number }}", ""), ("{{ user.none | default: 1000 | number }}", "1,000"),
        ("{{ badge | \(plural) }}", "3 messages"), ("{{ user.one | \(plural) }}", "1 message"),
        ("{{ user.none | default: 0 | \(plural) }}", "no messages"),
        ("{{ user.none | \(plural) | default: 'some' }}", "some"),
        ("{{ '2' | \(plural) }}", "2 messages"), ("{{ badge | plural: other: \"No. ###, '##'\" }}", "No. #3, '#'"),
        ("{{ badge | plural: one: 'a, b: | }}', other: 'c, d: | }}' }}", "c, d: | }}"),
        ("{{ user.since | date: 'long' }}", "March 1, 2026"), ("{{ user.since | time }}", "12:30 AM"),
        ("{{ user.day | date: 'short' }} {{ user.day | time | default: '-' }}", "3/1/2027 -"),
        ("{{ user.at | date: 'long' }} {{ user.at | time }}", "March 1, 2027 11:30 PM"),
        ("{{ user.instant | date: 'long' }} {{ user.instant | time }}", "March 2, 2027 12:30 AM"),
        ("{{ user.word | date: 'long' | default: 'soon' }}", "soon"), ("{{ badge | date: 'long' }}", ""),
        (
            "https://a.example/{{ user.visits | number }}?d={{ user.day | date: 'long' }}",
            "https://a.example/1%2C234.5?d=March%201%2C%202027"
        ),
    ])
    func `a value is written in its form`(written: String, filled: String) throws {
        let content = Self.content(written)
        try content.check(for: [.ios], receiptID: UUID())
        #expect(try content.filled(with: Self.values()).body == filled)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
    }

    @Test func `a time without known zone takes the named one`() throws {
        let text =
            "{{ user.since | time }} {{ user.since | date: 'short', zone: 'Asia/Tokyo' }} {{ user.since | time: zone: 'Asia/Tokyo' }}"
        #expect(try Self.content(text, language: "de").filled(with: Self.values(nil)).body == "23:30 1.3.2026 08:30")
        #expect(
            try Self.content(text, language: "de").filled(with: Self.values("Mars/X")).body == "23:30 1.3.2026 08:30")
        #expect(try Self.content(text, language: "de").filled(with: Self.values()).body == "00:30 1.3.2026 00:30")
        #expect(PersonalizationNeeds(try Self.content("{{ '2027-03-01' | date: 'long' }}").placeholders()).user)
        #expect(PersonalizationNeeds(try Self.content("{{ '7' | number }}").placeholders()).isEmpty)
    }

    @Test func `each translation has the forms of its language`() throws {
        var content = Self.content("{{ badge | plural: one: '# day', other: '# days' }} {{ user.visits | number }}")
        content.translations = try Translations(
            JSONValue(
                json: #"""
                    {"ru": {"body": "{{ badge | plural: one: '# день', few: '# дня', other: '# дней' }} {{ user.since | date: 'long' }}"},
                     "xx": {"body": "{{ badge | plural: one: '#', other: '##' }} {{ user.since | date: 'long' }}"}}
                    """#.utf8), field: "message.translations")
        try content.check(for: [.ios], receiptID: UUID())
        #expect(try content.filled(with: Self.values()).body == "3 days 1,234.5")
        #expect(try content.filled(with: Self.values("UTC", "ru-RU")).body == "3 дня 28 февраля 2026\u{202F}г.")
        #expect(try content.filled(with: Self.values("UTC", "xx")).body == "# 2026-02-28")
        #expect(PersonalizationNeeds(try content.placeholders()).user)
    }

    @Test func `values of the message are the same for all`() throws {
        let text =
            "{{ values.name }}: {{ values.count | plural: one: '# left', other: '# left of {}' }} {{ values.none | default: 'x' }}"
        let content = Self.content(text, values: ["name": .text("{{badge}} \"A\""), "count": .number(2)])
        try content.check(for: [.ios], receiptID: UUID())
        #expect(try content.filled(with: Self.values()).body == "{{badge}} \"A\": 2 left of {} x")
        #expect(PersonalizationNeeds(try content.placeholders()).isEmpty)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        let unused = Self.content("x", values: ["name": .flag(true)])
        let fault = #expect(throws: InvalidInput.self) { try unused.check(for: [.ios], receiptID: UUID()) }
        #expect(fault?.field == "message.values.name")
        let missing = Self.content("{{ values.count | number }}")
        let other = #expect(throws: InvalidInput.self) { try missing.check(for: [.ios], receiptID: UUID()) }
        #expect(
            other?.description == "message.values.count is missing, and its placeholder {{values.count}} has no default"
        )
        let link = Push.Content(
            shared: SharedFields([.title: "t", .link: "{{ values.link }}"]), isTemplate: true)
        for (url, isTaken) in [("shop://cheese", true), ("javascript:x", false)] {
            var content = link
            content.values["link"] = .text(url)
            #expect(((try? content.checkShared()) != nil) == isTaken, "\(url)")
        }
    }

    @Test(arguments: [
        ("a {{ badge | number: 4 }}", "number, or number: 0 to 3 decimals (at character 3)"),
        ("{{ badge | number: x }}", "has the filter 'number: x', the filters are"),
        ("{{ badge | number: 2, 2 }}", "0 to 3"), ("{{ badge | date }}", "date: 'short' or date: 'long'"),
        ("{{ badge | date: '%Y' }}", "date: 'short' or date: 'long'"),
        ("{{ badge | date: 'long', zone: 'Nowhere' }}", "has a zone that is 'Nowhere', it has to be a time zone"),
        ("{{ badge | time: 'long' }}", "time: zone"), ("{{ badge | plural }}", "has no text for other"),
        ("{{ badge | plural: '#' }}", "without its category"),
        ("{{ badge | plural: one: '#' }}", "has no text for other"),
        ("{{ badge | plural: few: '#', other: '#' }}", "has 'few': en has one, other, and =0"),
        ("{{ badge | plural: other: '#', other: '#' }}", "has 'other' twice"),
        ("{{ badge | plural: =0: 'a', =00: 'b', other: '#' }}", "twice"),
        ("{{ badge | plural: =-1: 'a', other: '#' }}", "has '=-1'"),
        ("{{ badge | plural: other: '#' | number }}", "is a second form"),
        ("{{ user.x | default: 'x' | number }}", "has the default 'x' before it, which is no number"),
        ("{{ user.x | default: '2027-03-01' | date: 'long' }}", "it stands behind"),
        ("{{ 'https://a.example' | signed_link | number }}", "is of a link"),
        ("{{ 'https://a.example' | number | signed_link }}", "follows a URL"),
        ("{{ badge, plural, one {# day} other {# days}}}", "a plural is written {{ badge | plural: one:"),
        ("{{ badge | plural: \(String(repeating: "=1: '', ", count: 17))other: '' }}", "has 18 texts, the limit is 16"),
    ])
    func `a wrong form is refused with its place`(written: String, words: String) {
        let fault = #expect(throws: InvalidInput.self) {
            try Self.content(written).check(for: [.ios], receiptID: UUID())
        }
        #expect(fault?.problem.contains(words) == true, "\(fault?.problem ?? "")")
        #expect(fault?.field == "message.body")
    }

    @Test func `a text of unknown language has two categories`() throws {
        let fault = #expect(throws: InvalidInput.self) {
            try Self.content("{{ badge | plural: few: '#', other: '#' }}", language: nil)
                .check(for: [.ios], receiptID: UUID())
        }
        #expect(fault?.problem.contains("message.language says it") == true)
        let plain = Self.content(
            "{{ badge | plural: one: '#', other: '# x' }} {{ user.visits | number }}", language: nil)
        #expect(try plain.filled(with: Self.values()).body == "3 x 1234.5")
    }

    @Test func `a form counts with its longest text`() throws {
        let long = String(repeating: "a", count: 3_900)
        try Self.content(long + "{{ user.a | number }}").check(for: [.ios], receiptID: UUID())
        #expect(throws: InvalidInput.self) {
            try Self.content(long + "{{ user.a | plural: other: '\(String(repeating: "b", count: 200))' }}")
                .check(for: [.ios], receiptID: UUID())
        }
    }

    @Test func `random forms are refused or fill alike on each way`() throws {
        var random = SplitMix64(seed: 37)
        let pieces = [
            "{{", "}}", " ", "badge", "user.visits", "user.since", "values.n", "|", "number", ":", "2", "plural", "one",
            "other",
            "'#'", "\"é # '\"", ",", "=0", "date", "'long'", "time", "zone", "'Asia/Tokyo'", "default", "'x'",
            "text \"",
            "https://a/", "few", "'", "\\",
        ]
        let whole = [
            "{{ badge | plural: one: '# \"', other: '# \\\\' }}", "{{ user.visits | number: 1 }}",
            "{{ user.since | date: 'long' }}", "{{ values.n | number }}", "{{ user.none | default: 5 | number }}",
        ]
        var taken = 0
        for _ in 0..<2_000 {
            let isWhole = Bool.random(using: &random)
            let count = Int.random(in: 1...(isWhole ? 5 : 14), using: &random)
            let text = (0..<count).map { _ in (isWhole ? whole : pieces).randomElement(using: &random) ?? "" }.joined()
            let tags = ["en", "ru", "ar", "fr", "xx", ""]
            let content = Self.content(
                text, language: tags.randomElement(using: &random), values: ["n": .number(7_000)])
            let template: ContentTemplate
            do { template = try #require(try ContentTemplate(content)) } catch let fault as InvalidInput {
                #expect(fault.field == "message.body")
                continue
            }
            let render = { (content: Push.Content) in
                try IOSPayload(content, receiptID: UUID(words: 5, 5), sentAt: .zero).bytes
            }
            let payload = PayloadTemplate(try render(template.content), template)
            let filled = try content.filled(with: Self.values())
            #expect(try payload.payload(for: Self.values(), bytesMax: .max) == render(filled), "\(text)")
            #expect(filled.body?.utf8.count ?? 0 <= (try content.longest()).body?.utf8.count ?? 0, "\(text)")
            taken += 1
        }
        #expect(taken > 900)
    }
}
