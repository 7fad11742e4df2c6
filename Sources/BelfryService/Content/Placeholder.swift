/// A placeholder in a text for a value that differs from device to device: `{{ user.name | default: 'you' }}`.
///
/// The syntax is that of Liquid, as far as it is needed: a name or a text in quotes, and filters.
package struct Placeholder: Sendable, Hashable {
    /// The value that replaces the placeholder.
    package enum Source: Sendable, Hashable {
        /// The number kept for the app's icon, after this push has counted.
        case badge
        case deviceID
        case userID
        case userLanguage
        case userTimeZone
        /// An attribute of the user, by its name.
        case attribute(String)
        /// A signed link that names the recipient.
        case signedLink(String)
        /// A value of the message itself, by its name; nil where it has none.
        case value(String, UserAttribute?)
        /// A text in quotes, for literal braces.
        case text(String)
        /// The message that was encrypted for the device.
        case encrypted(EncryptedContent)
        /// A whole text of the message in the language of the device.
        indirect case translated(TranslatedText)
    }

    package let source: Source
    /// The text for devices that have no value of the source; nil leaves the place empty.
    package let fallback: String?
    /// Whether it is a part of a URL, where it is written with percent signs.
    package let isInURL: Bool
    /// The form of the value; nil shows it as it is.
    let form: ValueForm?

    package static let known =
        "badge, device.id, user.id, user.language, user.time_zone, user.NAME for an attribute, values.NAME for a value of the "
        + "message, and 'https://…' | signed_link"

    package init(source: Source, fallback: String? = nil, isInURL: Bool = false) {
        self.init(source: source, fallback: fallback, isInURL: isInURL, form: nil)
    }

    private init(source: Source, fallback: String?, isInURL: Bool, form: ValueForm?) {
        self.source = source
        self.fallback = fallback
        self.isInURL = isInURL
        self.form = form
    }

    /// The most of one push.
    package static let countMax = 64

    static func excess(_ count: Int) -> InvalidInput {
        InvalidInput(field: "message", "has \(count) placeholders, the limit is \(countMax)")
    }

    package static let linkBytesMax = 1_024
}

/// The message around a text: the language it is written in, and the values that it gives to all devices.
struct TextContext: Sendable {
    var language = Language.neutral
    var values: [String: UserAttribute] = [:]
}

extension Placeholder {
    /// Reads the text between the braces.
    init(_ expression: String, isInURL: Bool, field: String, context: TextContext) throws(InvalidInput) {
        var parts = try Self.split(expression, at: "|", field: field)[...]
        let subject = parts.removeFirst()
        var source = try Self.source(subject, field: field, context: context)
        var (fallback, form): (String?, ValueForm?)
        for filter in parts {
            if filter == "signed_link" {
                guard case .text(let url) = source, form == nil else {
                    throw InvalidInput(
                        field: field, "has signed_link behind {{\(subject)}}, it follows a URL in quotes")
                }
                source = .signedLink(try Self.link(url, field: field))
            } else if let text = Self.argument(of: "default", in: filter) {
                fallback = text
            } else if let filter = try Filter(filter, field: field),
                let own = try ValueForm(filter, language: context.language, field: field)
            {
                if case .signedLink = source { throw filter.fault(field, "is of a link, which has no other form") }
                guard form == nil else { throw filter.fault(field, "is a second form, and a value has one") }
                fallback = try fallback.map { (text) throws(InvalidInput) in try own.written(text, filter, field) }
                form = own
            } else {
                throw InvalidInput(
                    field: field,
                    "has the filter '\(filter.prefix(64))', the filters are default: '…', \(ValueForm.known), and signed_link"
                )
            }
        }
        self.init(source: source, fallback: fallback, isInURL: isInURL, form: form)
    }

    private static func source(_ name: String, field: String, context: TextContext) throws(InvalidInput) -> Source {
        if let text = quoted(name) { return .text(text) }
        switch name {
        case "badge": return .badge
        case "device.id": return .deviceID
        case "user.id": return .userID
        case "user.language": return .userLanguage
        case "user.time_zone": return .userTimeZone
        default:
            let attribute = String(name.drop { $0 != "." }.dropFirst())
            let isNamed = 1...UserProfile.nameBytesMax ~= attribute.utf8.count
            if isNamed, name.hasPrefix("user.") { return .attribute(attribute) }
            if isNamed, name.hasPrefix("values.") { return .value(attribute, context.values[attribute]) }
            let isICU = ["plural", "select", "number", "date", "time"].contains { name.contains(", \($0)") }
            throw InvalidInput(
                field: field,
                "names {{\(name.prefix(64))}}, a template has \(known)"
                    + (isICU ? "; a plural is written {{ badge | plural: one: '# message', other: '# messages' }}" : "")
            )
        }
    }

    /// The parts between the marks that are not in quotes, without the spaces around them.
    fileprivate static func split(
        _ expression: String, at mark: Unicode.Scalar, field: String
    ) throws(InvalidInput) -> [String] {
        var parts = [""]
        var quote: Unicode.Scalar?
        // By scalars: a quotation mark and a combining mark behind it are one character.
        for scalar in expression.unicodeScalars {
            if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "'" || scalar == "\"" {
                quote = scalar
            }
            if scalar == mark, quote == nil {
                parts.append("")
            } else {
                parts[parts.count - 1].unicodeScalars.append(scalar)
            }
        }
        guard quote == nil else { throw InvalidInput(field: field, "has a quotation mark that is not closed in {{ }}") }
        return parts.map { String($0.trimmingSpaces) }
    }

    private static func quoted(_ text: some StringProtocol) -> String? {
        let scalars = text.unicodeScalars
        guard scalars.count >= 2, let first = scalars.first, first == "'" || first == "\"", scalars.last == first else {
            return nil
        }
        return String(String.UnicodeScalarView(scalars.dropFirst().dropLast()))
    }

    /// A text in quotes, or a number without them.
    fileprivate static func argument(_ text: some StringProtocol) -> String? {
        quoted(text) ?? Double(spelled: String(text)).map { _ in String(text) }
    }

    /// The argument of a filter such as `default: 'you'`; nil unless it is that filter and has one.
    private static func argument(of name: String, in filter: String) -> String? {
        guard filter.hasPrefix(name) else { return nil }
        let rest = filter.dropFirst(name.count).trimmingSpaces
        guard rest.first == ":" else { return nil }
        return argument(rest.dropFirst().trimmingSpaces)
    }

    /// Parameters follow it, so it has no fragment.
    private static func link(_ url: String, field: String) throws(InvalidInput) -> String {
        let isPlain = url.utf8.allSatisfy { 0x21...0x7E ~= $0 && !#""'\<>#"#.utf8.contains($0) }
        guard isPlain, url.utf8.count <= linkBytesMax, url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw InvalidInput(
                field: field,
                "has a signed_link of '\(url.prefix(64))', it takes an http or https URL of up to \(linkBytesMax) "
                    + "visible ASCII characters, without quotes and fragment")
        }
        return url
    }
}

/// A filter with its arguments: `plural: one: '# day', other: '# days'`.
struct Filter {
    let name: String
    let arguments: [(name: String?, text: String)]

    /// nil for a text of another form.
    init?(_ text: String, field: String) throws(InvalidInput) {
        let name = text.prefix { $0 != ":" }
        var arguments: [(name: String?, text: String)] = []
        if name.endIndex < text.endIndex {
            for part in try Placeholder.split(String(text[name.endIndex...].dropFirst()), at: ",", field: field) {
                let label = part.prefix { $0 != ":" && $0 != "'" && $0 != "\"" }
                let isLabelled = label.endIndex < part.endIndex && part[label.endIndex] == ":"
                let rest = isLabelled ? part[label.endIndex...].dropFirst().trimmingSpaces : part[...]
                guard let own = Placeholder.argument(rest) else { return nil }
                arguments.append((isLabelled ? String(label.trimmingSpaces) : nil, own))
            }
        }
        self.name = String(name.trimmingSpaces)
        self.arguments = arguments
    }

    /// Whether it has so many arguments without a name, and no other names than these, each once.
    func isGiven(_ count: Int, named names: [String]) -> Bool {
        let own = arguments.compactMap(\.name)
        return arguments.count - own.count == count && own.count <= names.count && own.allSatisfy(names.contains)
    }

    /// The refusal of the filter.
    func fault(_ field: String, _ problem: String) -> InvalidInput {
        InvalidInput(field: field, "has the filter '\(name)', which \(problem)")
    }
}

extension ValueForm {
    /// A default before the form, in that form.
    fileprivate func written(_ text: String, _ filter: Filter, _ field: String) throws(InvalidInput) -> String {
        guard !isInZone else {
            throw filter.fault(field, "has a default before it: it stands behind, as the text that is shown")
        }
        guard let written = self.text(of: .text(text), in: nil) else {
            throw filter.fault(
                field,
                "has the default '\(text.prefix(64))' before it, which is no number: behind it, it is shown as it is")
        }
        return written
    }
}

extension StringProtocol {
    var trimmingSpaces: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return self[endIndex...] }
        return self[first...last]
    }
}
