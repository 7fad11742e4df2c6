/// The fields of a message that each platform shows in its own way, beside its body and its badge.
///
/// A sender's part for a platform goes before them, field by field. docs/Pushing.md has a table of each field's form on each platform.
/// A value has been validated; only the size is checked later, when it is rendered.
package struct SharedFields: Sendable, Hashable {
    /// The fields that are texts, by their names in a request.
    package enum Name: String, Sendable, Hashable, CaseIterable {
        case title, image, link, sound, category, channel, thread
        case collapseKey = "collapse_key"
    }

    private var texts: [Name: String]
    /// The app's own members; empty for none.
    package private(set) var data: JSONObject

    package init(_ texts: [Name: String] = [:], data: JSONObject = [:]) {
        self.texts = texts
        self.data = data
    }

    package subscript(name: Name) -> String? { texts[name] }

    package var title: String? { texts[.title] }
    /// An https URL.
    package var image: String? { texts[.image] }
    /// A URL of the web, or of an app.
    package var link: String? { texts[.link] }
    package var sound: String? { texts[.sound] }
    package var collapseKey: String? { texts[.collapseKey] }

    package var isEmpty: Bool { texts.isEmpty && data.isEmpty }
    /// Whether there is something for people or for the app. The other fields only say how that is shown.
    package var isMessage: Bool { title != nil || !data.isEmpty }

    /// Every name in a request.
    package static let names = Name.allCases.map(\.rawValue) + ["data"]

    /// In the form that a sender writes.
    package var json: JSONObject {
        var members: JSONObject = [:]
        for name in Name.allCases { members[name.rawValue] = texts[name].map(JSONValue.string) }
        if !data.isEmpty { members["data"] = .object(data) }
        return members
    }

    /// The fields of others with these in their place. Data are replaced as a whole.
    func over(_ others: SharedFields) -> SharedFields {
        SharedFields(others.texts.merging(texts) { $1 }, data: data.isEmpty ? others.data : data)
    }

    /// Returns the fields with other texts. Names of members and the collapse key stay as they are.
    func replacing(
        _ text: (String, _ field: String) throws(InvalidInput) -> String,
        data replaced: (JSONObject, _ field: String) throws(InvalidInput) -> JSONObject
    ) throws(InvalidInput) -> SharedFields {
        guard !isEmpty else { return self }
        var fields = self
        for (name, own) in texts where name != .collapseKey { fields.texts[name] = try text(own, name.field) }
        fields.data = try replaced(data, "message.data")
        return fields
    }

    /// The collapse key for a service with a shorter limit; see `String.asKey`.
    package func collapseKey(of bytesMax: Int, takingSigns: Bool) -> String? {
        collapseKey?.asKey(of: bytesMax, takingSigns: takingSigns)
    }
}

extension String {
    /// A collapse key for a service with a shorter limit: the key itself where it fits, or else a hash of it.
    ///
    /// - Parameter bytesMax: at least 16.
    package func asKey(of bytesMax: Int, takingSigns: Bool) -> String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "-"), UInt8(ascii: "_"): takingSigns
            default: false
            }
        }
        if isPlain, utf8.count <= bytesMax { return self }
        let digits = String(SipHash(key0: 0, key1: 0).hash(Array(utf8)), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension SharedFields.Name {
    fileprivate var field: String { "message.\(rawValue)" }
}

// MARK: - As senders write them

extension SharedFields {
    /// The most Unicode characters of a sound, a category, a channel and a thread. Our own limit.
    package static let nameCharactersMax = 256
    /// Source: Apple, `apns-collapse-id`; Amazon, `consolidationKey`.
    package static let collapseKeyBytesMax = 64

    /// Reads the value of a field; returns false, having read nothing, where the name is none of these.
    package mutating func read(_ name: String, from reader: inout JSONReader) throws(InvalidInput) -> Bool {
        if name == "data" {
            data = try reader.members("message.data") ?? [:]
            return true
        }
        guard let name = Name(rawValue: name) else { return false }
        // Senders that fill in every field send empty ones; those are not given.
        texts[name] = try reader.string(name.field).flatMap { $0.isEmpty ? nil : $0 }
        return true
    }

    /// Reads the stored form, which was validated before.
    init(stored members: JSONObject) {
        var members = members
        data = [:]
        if case .object(let own)? = members.removeValue(forKey: "data") { data = own }
        texts = [:]
        for (name, value) in members { if let name = Name(rawValue: name) { texts[name] = value.stringValue } }
    }

    /// Throws on the first invalid field.
    fileprivate func check(_ context: TextContext?) throws(InvalidInput) {
        guard !isEmpty else { return }
        for name in Name.allCases {
            if let text = texts[name] { try Self.check(text, as: name, name.field, context) }
        }
        for name in ["aps", "receiptId"] where data[name] != nil {
            throw InvalidInput(field: "message.data.\(name)", "is reserved: the server writes it")
        }
    }

    /// Throws where a text is not valid for its field.
    fileprivate static func check(
        _ text: String, as name: Name, _ field: String, _ context: TextContext?
    ) throws(InvalidInput) {
        switch name {
        case .title: return
        case .image, .link:
            let url =
                if let context { try TextTemplate(text, field: field, context: context).sample } else { text }
            guard name == .image ? url.isImageURL : url.isLink else {
                throw InvalidInput(field: field, "has to be \(name == .image ? imageForm : linkForm)")
            }
        case .sound, .category, .channel, .thread: try check(name: text, field)
        case .collapseKey:
            // It goes into a header. Source: RFC 9110 §5.5.
            let isPlain =
                text.utf8.allSatisfy { 0x20...0x7E ~= $0 } && text.utf8.first != 0x20 && text.utf8.last != 0x20
            guard isPlain, text.utf8.count <= collapseKeyBytesMax else {
                throw InvalidInput(
                    field: field,
                    "has to be up to \(collapseKeyBytesMax) visible ASCII characters, without spaces around them")
            }
            guard context == nil || !text.contains("{{") else {
                throw InvalidInput(field: field, "takes no placeholders: it is the same for all devices")
            }
        }
    }

    private static let urlForm =
        "of visible ASCII characters without \\, up to \(WebNotificationRules.urlBytesMax) bytes"
    private static let imageForm = "an https URL \(urlForm)"
    private static let linkForm = "an http or https URL, or one of an app such as shop://cheese, \(urlForm)"

    private static func check(name text: String, _ field: String) throws(InvalidInput) {
        let (bytes, characters) = (text.utf8, text.unicodeScalars.count)
        guard characters <= nameCharactersMax else {
            throw InvalidInput(field: field, "has \(characters) characters, the limit is \(nameCharactersMax)")
        }
        guard bytes.first != 0x20, bytes.last != 0x20, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw InvalidInput(field: field, "begins or ends with a space, or holds control characters")
        }
    }
}

extension Push.Content {
    /// Throws on the first invalid shared field, and where a notification for browsers gets no title.
    ///
    /// - Parameter own: whether parts for Android's services, which go before the shared fields, are looked at too.
    package func checkShared(own: Bool = true) throws(InvalidInput) {
        guard values.isEmpty || isTemplate else {
            throw InvalidInput(field: "message.values", "fills placeholders, and message.template is not true")
        }
        try shared.check(textContext)
        try checkTranslations()
        if own { try checkOwnFields() }
        guard web == nil || web?.notification["title"] != nil || shared.title != nil else {
            throw InvalidInput(field: "message.web.title", "is missing")
        }
    }

    /// Throws where a translation is of a text that the message has not, and where it is no text for its field.
    private func checkTranslations() throws(InvalidInput) {
        for (tag, texts) in translations.languages {
            for (name, text) in texts.sorted(by: { $0.key < $1.key }) {
                let field = "message.translations.\(tag).\(name)"
                let shared = SharedFields.Name(rawValue: name)
                guard (shared.map { self.shared[$0] } ?? body) != nil else {
                    throw InvalidInput(
                        field: field, "translates what the message has not: give message.\(name) for other languages")
                }
                if let shared { try SharedFields.check(text, as: shared, field, textContext.map { $0.in(tag) }) }
            }
        }
    }

    /// Throws on the first invalid field of a part for Android's services that goes before a shared one. Without shared
    /// fields they are data for the app.
    private func checkOwnFields() throws(InvalidInput) {
        guard !shared.isEmpty else { return }
        for part in AndroidPart.names {
            guard case .object(let members)? = custom[part] else { continue }
            for name in SharedFields.Name.allCases where name != .collapseKey && name != .thread {
                guard let value = members[name.rawValue], !value.isNull else { continue }
                let field = "message.custom.\(part).\(name.rawValue)"
                guard let text = value.stringValue else { throw .value(field, value, not: "a text") }
                if !text.isEmpty { try SharedFields.check(text, as: name, field, textContext) }
            }
        }
    }
}

extension TextTemplate {
    /// A sample of the text with its placeholders filled, for checks before the values are known.
    fileprivate var sample: String {
        replacing { placeholder in
            switch placeholder.source {
            case .signedLink(let url): url
            // A form may show another text, or the fallback.
            case .text, .value(_, .text(_)?):
                placeholder.isInURL ? "x" : PersonalizedValues(PersonalizedValues.Values()).text(of: placeholder)
            // The value of a saved template is not known yet.
            case .value(_, nil): placeholder.isInURL ? "x" : placeholder.fallback ?? "https://example.org/"
            default: "x"
            }
        }
    }
}

extension String {
    var isImageURL: Bool { isPlainURL && schemeAndRest?.scheme == "https" && hasHost }

    /// A page, or a place in an app. Not a script or a file, since the opener would run or open any.
    var isLink: Bool {
        guard isPlainURL, let (scheme, rest) = schemeAndRest else { return false }
        if scheme == "http" || scheme == "https" { return hasHost }
        return !rest.isEmpty && !Self.schemesOfSystems.contains(scheme)
    }

    /// Scripts, files, and schemes that make a browser or Android do something other than open a page or an app of the sender's.
    private static let schemesOfSystems: Set = [
        "javascript", "vbscript", "data", "file", "blob", "about", "content", "view-source", "intent", "filesystem",
        "jar", "android-app", "chrome", "resource", "ws", "wss",
    ]

    private var isPlainURL: Bool {
        utf8.count <= WebNotificationRules.urlBytesMax && utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x5C }
    }

    private var hasHost: Bool {
        guard let rest = schemeAndRest?.rest, rest.hasPrefix("//") else { return false }
        return !["", "/", "?", "#", ":"].contains(rest.dropFirst(2).prefix(1))
    }

    /// Source: RFC 3986 §3.1.
    var schemeAndRest: (scheme: String, rest: Substring)? {
        guard let colon = firstIndex(of: ":") else { return nil }
        let scheme = self[..<colon].lowercased()
        guard let first = scheme.utf8.first, 0x61...0x7A ~= first,
            scheme.utf8.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || "+-.".utf8.contains($0) })
        else { return nil }
        return (scheme, self[index(after: colon)...])
    }
}
