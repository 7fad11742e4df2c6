import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// A message's texts in other languages.
@Suite struct TranslationTests {
    private static func content(
        _ translations: String, title: String? = "News", body: String? = "Hello {{user.name}}", isTemplate: Bool = false
    ) throws -> Push.Content {
        var content = Push.Content(
            body: body, shared: SharedFields(title.map { [.title: $0] } ?? [:]), isTemplate: isTemplate)
        content.translations = try Translations(
            JSONValue(json: translations.utf8), field: "message.translations")
        try content.checkShared()
        return content
    }

    private static func values(_ language: String?) -> PersonalizedValues {
        var values = PersonalizedValues.Values()
        values.language = language
        values.attributes = ["name": .text("Eva")]
        return PersonalizedValues(values)
    }

    private static let german = #"{"de":{"title":"Neues","body":"Hallo {{user.name}}"},"de-CH":{"body":"Grüezi"}}"#

    @Test(arguments: [
        ("de", "Neues", "Hallo {{user.name}}"), ("de-AT", "Neues", "Hallo {{user.name}}"), ("DE-ch", "Neues", "Grüezi"),
        ("de-CH-1996", "Neues", "Grüezi"), ("fr", "News", "Hello {{user.name}}"), (nil, "News", "Hello {{user.name}}"),
        ("d", "News", "Hello {{user.name}}"),
    ])
    func `a device gets the nearest language, text by text`(language: String?, title: String, body: String) throws {
        let filled = try Self.content(Self.german).filled(with: Self.values(language))
        #expect(filled.shared.title == title && filled.body == body)
        #expect(!filled.isPersonal)
    }

    @Test(arguments: [
        ("zh-TW", "繁"), ("zh_HK", "繁"), ("zh-Hant-MO", "繁"), ("zh-CN", "简"), ("zh", "简"), ("zh-Hans-HK", "简"),
        ("he-IL", "iw"), ("iw", "iw"), ("in", "id"), ("nb-NO", "no"), ("no", "no"), ("nn", "Hello"), ("yi", "ji"),
    ])
    func `Chinese goes by its script, old codes by new`(language: String, body: String) throws {
        let texts = ["zh-Hant": "繁", "zh-Hans": "简", "iw": "iw", "id": "id", "no": "no", "ji": "ji"]
        let members = texts.map { #""\#($0)":{"body":"\#($1)"}"# }.joined(separator: ",")
        let content = try Self.content("{\(members)}", body: "Hello")
        #expect(try content.filled(with: Self.values(language)).body == body)
    }

    @Test(arguments: [
        ("zh-Hant-TW", "台"), ("zh-TW", "台"), ("zh_Hant_HK", "港"), ("zh-HK", "港"), ("zh-Hant-MO", "繁"), ("zh-Hant", "繁"),
        ("zh-Hans-CN", "简"), ("zh-CN", "简"), ("zh-Hans-TW", "中"), ("zh", "中"),
    ])
    func `Chinese of a country needs no script`(language: String, body: String) throws {
        let texts = ["zh-TW": "台", "zh-Hant-HK": "港", "zh-Hant": "繁", "zh-CN": "简", "zh": "中"]
        let members = texts.map { #""\#($0)":{"body":"\#($1)"}"# }.joined(separator: ",")
        let content = try Self.content("{\(members)}", body: "Hello")
        #expect(try content.filled(with: Self.values(language)).body == body)
    }

    @Test func `a translation has placeholders where the message has`() throws {
        let content = try Self.content(Self.german, isTemplate: true)
        #expect(try content.filled(with: Self.values("de-AT")).body == "Hallo Eva")
        #expect(try content.filled(with: Self.values("en")).body == "Hello Eva")
        let needs = PersonalizationNeeds(try content.placeholders())
        #expect(needs.user && needs.attributes == ["name"])
    }

    @Test func `each language has at most 64 placeholders`() throws {
        func translations(_ count: Int) -> String {
            let texts = [count, 2].map { String(repeating: "{{badge}}", count: $0) }
            return #"{"de":{"body":"\#(texts[0])"},"fr":{"body":"\#(texts[1])"}}"#
        }
        func check(_ count: Int) throws {
            try Self.content(translations(count), isTemplate: true).check(for: [.ios], receiptID: UUID())
        }
        try check(64)
        #expect {
            try check(65)
        } throws: { "\($0)".contains("has 65 placeholders") }
    }

    @Test func `a spliced payload equals the rendered one`() throws {
        let content = try Self.content(#"{"de":{"body":"\"ä\" \\ {{user.name}}"}}"#, isTemplate: true)
        let template = try #require(try ContentTemplate(content))
        let render = { (content: Push.Content) in
            try IOSPayload(content, receiptID: UUID(words: 5, 5), sentAt: .zero).bytes
        }
        let payload = PayloadTemplate(try render(template.content), template)
        let spliced = try #require(payload.payload(for: Self.values("de"), bytesMax: .max))
        #expect(try spliced == render(content.filled(with: Self.values("de"))))
    }

    @Test(arguments: [("en", "https://a.example/"), ("de", "http://a.example/\"de"), ("fr", "/")])
    func `a browser opens the link of its language`(language: String, navigate: String) throws {
        var content = Push.Content(body: nil, shared: SharedFields([.title: "t", .link: "https://a.example/"]))
        content.translations = try Translations(
            JSONValue(json: #"{"de":{"link":"http://a.example/\"de"},"fr":{"link":"shop://fr"}}"#.utf8),
            field: "message.translations")
        let template = try #require(try ContentTemplate(content))
        let payload = PayloadTemplate(try WebPayload(template.content, receiptID: nil).bytes, template)
        let spliced = try #require(payload.payload(for: Self.values(language), bytesMax: .max))
        #expect(try JSONValue(json: spliced)["notification"]?["navigate"] == .string(navigate))
    }

    @Test func `an accepted push has room for its marks`() throws {
        var content = try Self.content(#"{"de":{"title":"N"}}"#, title: "N", body: "x")
        content.badge = .add(1)
        let size = (3_800...4_100).reversed().first { size in
            content.body = String(repeating: "x", count: size)
            return (try? content.check(for: [.ios], receiptID: UUID())) != nil
        }
        #expect(size != nil)
        let template = try #require(try ContentTemplate(content))
        #expect(throws: Never.self) { try IOSPayload(template.content, receiptID: UUID(), sentAt: .zero) }
    }

    @Test func `the stored form and the request give it again`() throws {
        let content = try Self.content(Self.german)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        #expect(content.json["translations"]?["de"]?["title"] == .string("Neues"))
    }

    @Test func `the longest text is judged at acceptance`() throws {
        let long = String(repeating: "x", count: 5_000)
        let content = try Self.content("{\"de\":{\"body\":\"\(long)\"}}")
        #expect(throws: InvalidInput.self) { try content.check(for: [.ios], receiptID: UUID()) }
        try Self.content(Self.german).check(for: [.ios, .androidFCM], receiptID: UUID())
    }

    @Test(arguments: [
        (#"{"de":{"title":"x"}}"#, "translates what the message has not"), (#"[]"#, "an object"),
        (#"{"de":{}}"#, "an object with"), (#"{"de":{"sound":"x"}}"#, "sound"), (#"{"de":{"body":7}}"#, "a text"),
        (#"{"":{"body":"x"}}"#, "empty language"), (#"{"de":{"body":"x"},"DE":{"body":"y"}}"#, "twice"),
        (#"{"de":{"link":"javascript:x"}}"#, "translates what"), (#"{"not a tag":{"body":"x"}}"#, "not a tag"),
    ])
    func `a translation of nothing is refused with its field`(translations: String, words: String) {
        #expect {
            _ = try Self.content(translations, title: nil)
        } throws: { "\($0)".contains("message.translations") && "\($0)".contains(words) }
    }
}
