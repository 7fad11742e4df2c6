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
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// Reads one XML document, element by element, and scalar by scalar: to Swift, a `>` with a combining mark behind it is another character.
struct XMLText {
    private let text: [Unicode.Scalar]
    private var index = 0
    private static let depthMax = 64

    init(_ text: String) {
        self.text = Array(text.unicodeScalars)
    }

    mutating func readDocument() -> XML? {
        _ = take("\u{FEFF}")
        guard skipMisc(), let root = readElement(depth: 0), skipMisc(), index == text.count else { return nil }
        return root
    }

    private func stands(_ word: String) -> Bool {
        text[index...].starts(with: word.unicodeScalars)
    }

    private mutating func take(_ word: String) -> Bool {
        guard stands(word) else { return false }
        index += word.unicodeScalars.count
        return true
    }

    private func string(from start: Int) -> String { String(String.UnicodeScalarView(text[start..<index])) }

    /// The text before the word, which is skipped.
    private mutating func read(until word: String) -> String? {
        let start = index
        while index < text.count {
            if stands(word) {
                defer { index += word.unicodeScalars.count }
                return string(from: start)
            }
            index += 1
        }
        return nil
    }

    private mutating func skipSpace() {
        while index < text.count, text[index].properties.isWhitespace { index += 1 }
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
        while index < text.count, Self.isOfName(text[index]) { index += 1 }
        return index > start ? string(from: start) : nil
    }

    private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "-_.:".unicodeScalars.contains(scalar)
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
    private mutating func readText(until end: Unicode.Scalar, unlike forbidden: Unicode.Scalar? = nil) -> String? {
        var read = String.UnicodeScalarView()
        while index < text.count, text[index] != end {
            guard text[index] != forbidden else { return nil }
            if take("&") {
                guard let name = self.read(until: ";"), let scalar = Self.entity(name) else { return nil }
                read.append(scalar)
            } else {
                read.append(text[index])
                index += 1
            }
        }
        return String(read)
    }

    private static func entity(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"):
            UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"):
            UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
