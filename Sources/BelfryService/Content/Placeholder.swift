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
        /// A text in quotes, for literal braces.
        case text(String)
        /// A whole text of the message in the language of the device.
        indirect case translated(TranslatedText)
    }

    package let source: Source
    /// The text for devices that have no value of the source; nil leaves the place empty.
    package let fallback: String?
    /// Whether it is a part of a URL, where it is written with percent signs.
    package let isInURL: Bool

    package static let known =
        "badge, device.id, user.id, user.language, user.time_zone, user.NAME for an attribute, and 'https://…' | signed_link"
    package init(source: Source, fallback: String? = nil, isInURL: Bool = false) {
        self.source = source
        self.fallback = fallback
        self.isInURL = isInURL
    }

    /// The most of one push.
    package static let countMax = 64
    package static let linkBytesMax = 1_024
}

extension Placeholder {
    /// Reads the text between the braces.
    init(_ expression: String, isInURL: Bool, field: String) throws(InvalidInput) {
        var parts = try Self.split(expression, field: field)[...]
        let subject = parts.removeFirst()
        var source = try Self.source(subject, field: field)
        var fallback: String?
        for filter in parts {
            if filter == "signed_link" {
                guard case .text(let url) = source else {
                    throw InvalidInput(
                        field: field, "has signed_link behind {{\(subject)}}, it follows a URL in quotes")
                }
                source = .signedLink(try Self.link(url, field: field))
            } else if let text = Self.argument(of: "default", in: filter) {
                fallback = text
            } else {
                throw InvalidInput(
                    field: field, "has the filter '\(filter.prefix(64))', the filters are default: '…' and signed_link")
            }
        }
        self.init(source: source, fallback: fallback, isInURL: isInURL)
    }

    private static func source(_ name: String, field: String) throws(InvalidInput) -> Source {
        if let text = quoted(name) { return .text(text) }
        switch name {
        case "badge": return .badge
        case "device.id": return .deviceID
        case "user.id": return .userID
        case "user.language": return .userLanguage
        case "user.time_zone": return .userTimeZone
        default:
            let attribute = name.dropFirst("user.".count)
            guard name.hasPrefix("user."), 1...UserProfile.nameBytesMax ~= attribute.utf8.count else {
                throw InvalidInput(field: field, "names {{\(name.prefix(64))}}, a template has \(known)")
            }
            return .attribute(String(attribute))
        }
    }

    /// The parts between the bars that are not in quotes, without the spaces around them.
    private static func split(_ expression: String, field: String) throws(InvalidInput) -> [String] {
        var parts = [""]
        var quote: Character?
        for character in expression {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            }
            if character == "|", quote == nil { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        guard quote == nil else { throw InvalidInput(field: field, "has a quotation mark that is not closed in {{ }}") }
        return parts.map { String($0.trimmingSpaces) }
    }

    private static func quoted(_ text: some StringProtocol) -> String? {
        guard text.count >= 2, let first = text.first, first == "'" || first == "\"", text.last == first else {
            return nil
        }
        return String(text.dropFirst().dropLast())
    }

    /// The argument of a filter such as `default: 'you'`; nil unless it is that filter and has one.
    private static func argument(of name: String, in filter: String) -> String? {
        guard filter.hasPrefix(name) else { return nil }
        let rest = filter.dropFirst(name.count).trimmingSpaces
        guard rest.first == ":" else { return nil }
        return quoted(rest.dropFirst().trimmingSpaces)
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

extension StringProtocol {
    fileprivate var trimmingSpaces: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return self[endIndex...] }
        return self[first...last]
    }
}
