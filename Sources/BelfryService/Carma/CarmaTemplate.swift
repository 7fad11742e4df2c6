/// The texts of a trigger in each language: the two lines of the notification, and the page behind it.
///
/// `{{name}}` is replaced by a property of the request, a property of the contact, or a field of it such as `firstName`; in the page
/// it is escaped for HTML. An unknown name is replaced by nothing.
package struct CarmaTemplate: Sendable, Hashable {
    package let name: String
    private let languages: [String: Texts]
    private let usual: String

    package struct Texts: Sendable, Hashable {
        package let alert: String
        package let message: String
        package let html: String
    }

    package static let bytesMax = 262_144
    package static let languagesMax = 64
    /// The most bytes of a filled page: a value may stand in it many times.
    package static let filledBytesMax = 65_536

    /// Reads `{"name": …, "default_language": "en", "languages": {"en": {"alert": …, "message": …, "html": …}}}`.
    ///
    /// - Parameter isStored: whether it may be from a time in which `pt_BR` and `pt-BR` were two languages. Of those the one in the form of
    ///   language tags counts, or else the later.
    package init(_ value: JSONValue, field: String = "template", isStored: Bool = false) throws(InvalidInput) {
        name = value["name"]?.stringValue ?? ""
        guard case .object(let members)? = value["languages"], 1...Self.languagesMax ~= members.count else {
            throw InvalidInput(
                field: "\(field).languages", "has to be an object of 1 to \(Self.languagesMax) languages")
        }
        var languages: [String: Texts] = [:]
        for (language, texts) in members {
            let tag = language.languageTag
            if languages[tag] != nil, isStored, language.utf8.contains(UInt8(ascii: "_")) { continue }
            guard languages[tag] == nil || isStored else {
                throw InvalidInput(
                    field: "\(field).languages", "has \(tag) twice, which case and '_' for '-' do not tell apart")
            }
            languages[tag] = try Self.texts(texts, "\(field).languages.\(language)")
        }
        self.languages = languages
        let usual = value["default_language"]?.stringValue?.languageTag ?? languages.keys.sorted()[0]
        guard languages[usual] != nil else {
            throw InvalidInput(field: "\(field).default_language", "is '\(usual)', which languages does not have")
        }
        self.usual = usual
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
        }
    }

    private static func texts(_ value: JSONValue, _ field: String) throws(InvalidInput) -> Texts {
        guard let alert = value["alert"]?.stringValue, !alert.isEmpty else {
            throw InvalidInput(field: "\(field).alert", "is missing: it is the first line of the notification")
        }
        return Texts(
            alert: alert, message: value["message"]?.stringValue ?? "", html: value["html"]?.stringValue ?? "")
    }

    package var json: JSONValue {
        .object([
            "name": .string(name), "default_language": .string(usual),
            "languages": .object(
                JSONObject(
                    languages.mapValues {
                        .object(["alert": .string($0.alert), "message": .string($0.message), "html": .string($0.html)])
                    })),
        ])
    }

    /// As it is stored.
    package var text: String { json.storedText }

    /// The texts for a language tag, filled with values: `zh-Hant-TW` falls back to `zh-Hant`, then to `zh`.
    package func texts(in language: String?, values: [String: String]) throws(InvalidInput) -> Texts {
        let texts = language?.languageTag.lookupRange.lazy.compactMap { languages[$0] }.first ?? languages[usual]
        guard let texts else { return Texts(alert: "", message: "", html: "") }
        return Texts(
            alert: try Self.filled(texts.alert, "alert") { values[$0] ?? "" },
            message: try Self.filled(texts.message, "message") { values[$0] ?? "" },
            html: try Self.filled(texts.html, "html") { (values[$0] ?? "").html })
    }

    private static func filled(
        _ text: String, _ field: String, _ value: (String) -> String
    ) throws(InvalidInput) -> String {
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "{{"), let end = rest[start.upperBound...].firstRange(of: "}}") {
            result += rest[..<start.lowerBound]
            result += value(String(rest[start.upperBound..<end.lowerBound]).asName)
            rest = rest[end.upperBound...]
            try check(result, field)
        }
        result += rest
        try check(result, field)
        return result
    }

    private static func check(_ text: String, _ field: String) throws(InvalidInput) {
        guard text.utf8.count <= filledBytesMax else {
            throw InvalidInput(field: "properties", "make the trigger's \(field) longer than \(filledBytesMax) bytes")
        }
    }
}

extension String {
    /// A language tag in the form in which tags are compared: in lower case, `-` between its parts, without the suffix of POSIX
    /// (`pt_BR.UTF-8`).
    fileprivate var languageTag: String {
        String(asName.caseFolded.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 })
    }

    /// The tag and its shortened forms, up to 64 parts. Source: RFC 4647 §3.4, which removes a single letter together with the part behind
    /// it.
    fileprivate var lookupRange: [String] {
        var parts = split(separator: "-").prefix(64)
        var range: [String] = []
        while !parts.isEmpty {
            range.append(parts.joined(separator: "-"))
            parts = parts.dropLast()
            if parts.count > 1, parts.last?.utf8.count == 1 { parts = parts.dropLast() }
        }
        return range
    }
}
