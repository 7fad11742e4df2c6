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

/// Reads one XML document, element by element.
struct XMLText {
    private let text: [Character]
    private var index = 0
    private static let depthMax = 64

    init(_ text: String) {
        self.text = Array(text)
    }

    mutating func readDocument() -> XML? {
        _ = take("\u{FEFF}")
        guard skipMisc(), let root = readElement(depth: 0), skipMisc(), index == text.count else { return nil }
        return root
    }

    private func stands(_ word: String) -> Bool {
        index + word.count <= text.count && text[index..<index + word.count].elementsEqual(word)
    }

    private mutating func take(_ word: String) -> Bool {
        guard stands(word) else { return false }
        index += word.count
        return true
    }

    /// The text before the word, which is skipped.
    private mutating func read(until word: String) -> String? {
        let start = index
        while index < text.count {
            if stands(word) {
                defer { index += word.count }
                return String(text[start..<index])
            }
            index += 1
        }
        return nil
    }

    private mutating func skipSpace() {
        while index < text.count, text[index].isWhitespace { index += 1 }
    }

    /// Skips white space, comments, instructions and a document type without an inner part.
    private mutating func skipMisc() -> Bool {
        while true {
            skipSpace()
            if take("<?") {
                guard read(until: "?>") != nil else { return false }
            } else if take("<!--") {
                guard read(until: "-->") != nil else { return false }
            } else if take("<!DOCTYPE") {
                guard let type = read(until: ">"), !type.contains("[") else { return false }
            } else {
                return true
            }
        }
    }

    private mutating func readElement(depth: Int) -> XML? {
        guard depth < Self.depthMax, take("<"), let name = readName() else { return nil }
        var element = XML(name: name)
        while true {
            let before = index
            skipSpace()
            if take("/>") { return element }
            if take(">") { break }
            guard index > before, let name = readName(), element.attributes[name] == nil, let value = readValue() else {
                return nil
            }
            element.attributes[name] = value
        }
        return readContent(of: element, depth: depth)
    }

    private mutating func readContent(of element: XML, depth: Int) -> XML? {
        var element = element
        while index < text.count {
            if take("</") {
                guard readName() == element.name else { return nil }
                skipSpace()
                return take(">") ? element : nil
            } else if take("<![CDATA[") {
                guard let text = read(until: "]]>") else { return nil }
                element.text += text
            } else if stands("<!--") || stands("<?") {
                guard skipMisc() else { return nil }
            } else if stands("<") {
                guard let child = readElement(depth: depth + 1) else { return nil }
                element.children.append(child)
            } else {
                guard let text = readText(until: "<") else { return nil }
                element.text += text
            }
        }
        return nil
    }

    private mutating func readName() -> String? {
        let start = index
        while index < text.count, text[index].isLetter || text[index].isNumber || "-_.:".contains(text[index]) {
            index += 1
        }
        return index > start ? String(text[start..<index]) : nil
    }

    private mutating func readValue() -> String? {
        skipSpace()
        guard take("=") else { return nil }
        skipSpace()
        guard let quote = index < text.count ? text[index] : nil, quote == "\"" || quote == "'" else { return nil }
        index += 1
        guard let value = readText(until: quote, unlike: "<"), take(String(quote)) else { return nil }
        return value
    }

    /// Text with its entities resolved.
    private mutating func readText(until end: Character, unlike forbidden: Character? = nil) -> String? {
        var read = ""
        while index < text.count, text[index] != end {
            guard text[index] != forbidden else { return nil }
            if take("&") {
                guard let name = self.read(until: ";"), let character = Self.entity(name) else { return nil }
                read.append(character)
            } else {
                read.append(text[index])
                index += 1
            }
        }
        return read
    }

    private static func entity(_ name: String) -> Character? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"):
            UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init).map { Character($0) }
        case _ where name.hasPrefix("#"):
            UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init).map { Character($0) }
        default: nil
        }
    }
}
