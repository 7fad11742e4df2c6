/// An XML element: enough of XML 1.0 to read what push senders write. Namespaces stay prefixes, entities are the five
/// predefined ones.
struct XML: Sendable, Equatable {
    var name: String
    var attributes: [String: String] = [:]
    var children: [XML] = []
    /// Text of the element itself, all parts together.
    var text = ""

    /// The root element; nil when the text is not well-formed.
    init?(_ text: String) {
        var reader = XMLText(text)
        guard let root = reader.readDocument() else { return nil }
        self = root
    }

    init(name: String) {
        self.name = name
    }

    func child(_ name: String) -> XML? { children.first { $0.name == name } }
}

extension String {
    /// The text in escaped form, for an attribute or between tags.
    var xmlEscaped: String {
        reduce(into: "") { text, character in
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            default: text.append(character)
            }
        }
    }
}
