/// A message's texts in other languages, for devices and users who read them: `{"de": {"title": "…", "body": "…"}}`.
///
/// A text of `de` serves `de-AT` too. Where a language has none, the message's own text is shown.
package struct Translations: Sendable, Hashable {
    /// Texts by field, by language tag, as `asLanguage` has it.
    private var texts: [String: [String: String]] = [:]

    package static let fields = ["title", "body", "image", "link"]
    package static let languagesMax = 64

    package init() {}

    package var isEmpty: Bool { texts.isEmpty }

    /// Reads the member of a message. Throws on what is not understood.
    package init(_ value: JSONValue, field: String) throws(InvalidInput) {
        guard case .object(let languages) = value else {
            guard value.isNull else { throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)") }
            return
        }
        guard languages.count <= Self.languagesMax else {
            throw InvalidInput(
                field: field, "has \(languages.count) languages, the limit is \(Self.languagesMax)")
        }
        for (tag, value) in languages {
            let own = "\(field).\(tag.prefix(64))"
            guard !tag.isEmpty else { throw InvalidInput(field: field, "has an empty language") }
            try UserProfile.check(tag: tag, field: own)
            guard case .object(let members) = value, !members.isEmpty else {
                throw InvalidInput(field: own, "has to be an object with \(Self.fields.joined(separator: ", "))")
            }
            var read: [String: String] = [:]
            for (name, text) in members {
                guard Self.fields.contains(name) else {
                    throw InvalidInput.unknown("\(own).\(name)", instead: Self.fields)
                }
                guard let text = text.stringValue, !text.isEmpty else {
                    throw InvalidInput(field: "\(own).\(name)", "has to be a text")
                }
                read[name] = text
            }
            guard texts.updateValue(read, forKey: tag.asLanguage) == nil else {
                throw InvalidInput(field: own, "is there twice")
            }
        }
    }

    /// The stored form, which was validated before.
    init(stored members: JSONObject) {
        for (tag, value) in members {
            guard case .object(let own) = value else { continue }
            texts[tag] = own.reduce(into: [:]) { $0[$1.key] = $1.value.stringValue }
        }
    }

    /// Other translations with these in their place.
    ///
    /// - Parameter names: fields whose texts the others lose.
    func over(_ others: Translations, without names: [String]) -> Translations {
        var merged = others
        for (tag, own) in others.texts {
            let left = own.filter { !names.contains($0.key) }
            merged.texts[tag] = left.isEmpty ? nil : left
        }
        for (tag, own) in texts { merged.texts[tag, default: [:]].merge(own) { $1 } }
        return merged
    }

    package var json: JSONValue { .object(JSONObject(texts.mapValues { .object(JSONObject($0)) })) }

    package var languages: [(tag: String, texts: [String: String])] {
        texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The texts of a field; nil where no language has one.
    func text(
        of name: String, fallback: String, context: TextContext?, field: String
    ) throws(InvalidInput) -> TranslatedText? {
        var found: [String: TextTemplate] = [:]
        for (tag, own) in texts {
            guard let text = own[name] else { continue }
            found[tag] = try TextTemplate(
                text, "message.translations.\(tag).\(name)", context.map { $0.in(tag) })
        }
        guard !found.isEmpty else { return nil }
        return TranslatedText(texts: found, fallback: try TextTemplate(fallback, field, context))
    }
}

extension TextTemplate {
    /// - Parameter context: nil for a text without placeholders.
    fileprivate init(_ text: String, _ field: String, _ context: TextContext?) throws(InvalidInput) {
        if let context {
            try self.init(text, field: field, context: context)
        } else {
            self.init(verbatim: text)
        }
    }
}

extension TextContext {
    func `in`(_ tag: String) -> TextContext { TextContext(language: .of(tag), values: values) }
}

package struct TranslatedText: Sendable, Hashable {
    /// By language tag, as `asLanguage` has it.
    let texts: [String: TextTemplate]
    let fallback: TextTemplate

    /// The text for who reads a language: of the language itself, else of the one it is a form of.
    func text(for language: String?) -> TextTemplate {
        var tag = (language ?? "").asLanguage
        let chinese = Self.chinese(tag)
        while !tag.isEmpty {
            let near = texts[tag] ?? Self.alias(of: tag).flatMap { texts[$0] }
            if let text = near ?? chinese.lazy.compactMap({ texts[$0] }).first { return text }
            tag = tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
        }
        return fallback
    }

    /// The old codes of languages, which systems still have, and the new ones. Source: the IANA language subtag registry.
    private static let aliases = [
        "iw": "he", "he": "iw", "in": "id", "id": "in", "ji": "yi", "yi": "ji", "no": "nb", "nb": "no",
    ]

    private static func alias(of tag: String) -> String? {
        let first = tag.prefix { $0 != "-" }
        return aliases[String(first)].map { $0 + tag[first.endIndex...] }
    }

    /// Other tags of the same Chinese, the nearest first: its country implies its script. Source: likely subtags of CLDR.
    private static func chinese(_ tag: String) -> [String] {
        guard tag == "zh" || tag.hasPrefix("zh-") else { return [] }
        let parts = tag.split(separator: "-")
        let country = parts.dropFirst().first { $0.utf8.count == 2 }
        let impliesTraditional = country.map { ["tw", "hk", "mo"].contains($0) } ?? false
        let isTraditional = parts.contains("hant") || impliesTraditional && !parts.contains("hans")
        let script = isTraditional ? "zh-hant" : "zh-hans"
        guard let country else { return [script] }
        let isImplied = isTraditional == impliesTraditional
        return ["\(script)-\(country)"] + (isImplied ? ["zh-\(country)"] : []) + [script]
    }

    var all: [TextTemplate] { [fallback] + texts.sorted { $0.key < $1.key }.map(\.value) }
}

extension Placeholder {
    /// How many a reader's text has in its place, of any language.
    var count: Int {
        if case .translated(let text) = source { text.all.map(\.placeholders.count).max() ?? 0 } else { 1 }
    }

    /// The placeholder, or those of all languages where it stands for a whole text.
    var withThoseOfTranslations: [Placeholder] {
        if case .translated(let text) = source { text.all.flatMap(\.placeholders) } else { [self] }
    }
}
