/// A text with placeholders, split into its parts.
struct TextTemplate: Sendable, Hashable {
    enum Part: Sendable, Hashable {
        case text(String)
        case placeholder(Placeholder)
    }

    let parts: [Part]

    /// Throws on braces that are not closed, and on invalid placeholders.
    init(_ text: String, field: String, context: TextContext) throws(InvalidInput) {
        let bytes = Array(text.utf8)
        var parts: [Part] = []
        var place = URLPlace(of: bytes)
        var start = 0
        while let open = Self.open(in: bytes, from: start) {
            guard let close = Self.close(in: bytes, from: open + 2) else {
                throw InvalidInput(
                    field: field,
                    "has {{ without }}; write {{ '{{' }} where braces are meant, or leave message.template out")
            }
            place.pass(bytes[start..<open])
            if start < open { parts.append(.text(String(decoding: bytes[start..<open], as: UTF8.self))) }
            let expression = String(decoding: bytes[open + 2..<close], as: UTF8.self)
            do throws(InvalidInput) {
                parts.append(
                    .placeholder(
                        try Placeholder(expression, isInURL: place.isInURL, field: field, context: context)))
            } catch {
                let place = String(decoding: bytes[..<open], as: UTF8.self).unicodeScalars.count + 1
                throw InvalidInput(field: field, "\(error.problem) (at character \(place))")
            }
            start = close + 2
        }
        if start < bytes.count { parts.append(.text(String(decoding: bytes[start...], as: UTF8.self))) }
        self.parts = parts
    }

    init(verbatim text: String) { parts = [.text(text)] }

    var placeholders: [Placeholder] {
        parts.compactMap { part in
            if case .placeholder(let placeholder) = part { placeholder } else { nil }
        }
    }

    func replacing(_ replace: (Placeholder) -> String) -> String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .text(let own): text += own
            case .placeholder(let placeholder): text += replace(placeholder)
            }
        }
    }

    fileprivate static func open(in bytes: [UInt8], from start: Int) -> Int? {
        bytes.indices.dropFirst(start).first { bytes[$0] == 0x7B && $0 + 1 < bytes.count && bytes[$0 + 1] == 0x7B }
    }

    /// The place where the braces close, quotes aside.
    fileprivate static func close(in bytes: [UInt8], from start: Int) -> Int? {
        var quote: UInt8?
        for index in bytes.indices.dropFirst(start) {
            let byte = bytes[index]
            if byte == quote {
                quote = nil
            } else if quote == nil, byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quote = byte
            } else if quote == nil, byte == 0x7D, index + 1 < bytes.count, bytes[index + 1] == 0x7D {
                return index
            }
        }
        return nil
    }
}

/// Decides whether the next text belongs to a URL: its word has `://` before, or the whole text is a URL or a path of a site.
private struct URLPlace {
    private let isWhole: Bool
    private var hasScheme = false

    /// Spaces within placeholders do not count.
    init(of text: [UInt8]) {
        let scheme = text.prefix { 0x61...0x7A ~= $0 | 0x20 }
        let rest = text[scheme.endIndex...]
        var (isWhole, start) = (rest.starts(with: (scheme.isEmpty ? "/" : "://").utf8), 0)
        while isWhole, start < text.count {
            let open = TextTemplate.open(in: text, from: start) ?? text.count
            isWhole = !text[start..<open].contains { $0 <= 0x20 }
            start = TextTemplate.close(in: text, from: open + 2).map { $0 + 2 } ?? text.count
        }
        self.isWhole = isWhole
    }

    var isInURL: Bool { isWhole || hasScheme }

    mutating func pass(_ text: ArraySlice<UInt8>) {
        /// The last two bytes of the word.
        var last: (UInt8, UInt8) = (0, 0)
        for byte in text {
            if byte <= 0x20 || #""'<("#.utf8.contains(byte) {
                hasScheme = false
                last = (0, 0)
            } else {
                if last == (UInt8(ascii: ":"), UInt8(ascii: "/")), byte == UInt8(ascii: "/") { hasScheme = true }
                last = (last.1, byte)
            }
        }
    }
}

extension Push.Content {
    /// The placeholders of its texts, in the order of their first appearance. Throws unless each can be read.
    package func placeholders() throws(InvalidInput) -> [Placeholder] {
        guard variesInText else { return [] }
        var found: [Placeholder] = []
        var total = 0
        _ = try replacingPlaceholders { placeholder in
            total += 1
            if total <= Placeholder.countMax, !found.contains(placeholder) { found.append(placeholder) }
            return ""
        }
        guard total <= Placeholder.countMax else { throw Placeholder.excess(total) }
        return found
    }

    /// Language and values for its own placeholders; nil where braces are braces.
    var textContext: TextContext? { isTemplate ? TextContext(language: .of(language), values: values) : nil }

    /// The content with another text in place of each placeholder, and of each text that has translations.
    func replacingPlaceholders(_ replace: (Placeholder) -> String) throws(InvalidInput) -> Push.Content {
        guard variesInText else { return self }
        if let encrypted { return carrying(replace(Placeholder(source: .encrypted(encrypted))), of: encrypted) }
        let context = textContext
        var filled = self
        filled.isTemplate = false
        filled.translations = Translations()
        (filled.language, filled.values) = (nil, [:])
        if let body { filled.body = try replacing(body, "message.body", context, replace) }
        filled.shared = try shared.replacing { text, field throws(InvalidInput) in
            try replacing(text, field, context, replace)
        } data: { data, field throws(InvalidInput) in
            if let context { try data.replacingPlaceholders(field, context, replace) } else { data }
        }
        guard let context else { return filled }
        filled.custom = try custom.replacingPlaceholders("message.custom", context, replace)
        if let apple, !apple.isVerbatim {
            filled.apple = apple.saying(
                try apple.payload.replacingPlaceholders("message.apns.payload", context, replace))
        }
        if let web {
            filled.web = web.saying(try web.notification.replacingPlaceholders("message.web", context, replace))
        }
        return filled
    }

    private func replacing(
        _ text: String, _ field: String, _ context: TextContext?, _ replace: (Placeholder) -> String
    ) throws(InvalidInput) -> String {
        let name = String(field.dropFirst("message.".count))
        if let text = try translations.text(of: name, fallback: text, context: context, field: field) {
            return replace(Placeholder(source: .translated(text)))
        }
        return if let context { try text.replacingPlaceholders(field, context, replace) } else { text }
    }
}

extension String {
    fileprivate func replacingPlaceholders(
        _ field: String, _ context: TextContext, _ replace: (Placeholder) -> String
    ) throws(InvalidInput) -> String {
        var last: UInt8 = 0
        let hasBraces = utf8.contains { byte in
            defer { last = byte }
            return byte == UInt8(ascii: "{") && last == byte
        }
        return hasBraces ? try TextTemplate(self, field: field, context: context).replacing(replace) : self
    }
}

extension JSONValue {
    /// The names of members stay as they are. The path of a field is only composed for a fault, since paths may be as long as the
    /// message.
    fileprivate func replacingPlaceholders(
        _ context: TextContext, _ replace: (Placeholder) -> String
    ) throws(InvalidInput) -> JSONValue {
        switch self {
        case .string(let text): return .string(try text.replacingPlaceholders("", context, replace))
        case .array(let elements):
            var replaced: [JSONValue] = []
            for (index, element) in elements.enumerated() {
                do throws(InvalidInput) { replaced.append(try element.replacingPlaceholders(context, replace)) } catch {
                    throw error.under("[\(index)]")
                }
            }
            return .array(replaced)
        case .object(let members): return .object(try members.replacingPlaceholders("", context, replace))
        case .null, .bool, .integer, .number: return self
        }
    }
}

extension JSONObject {
    fileprivate func replacingPlaceholders(
        _ field: String, _ context: TextContext, _ replace: (Placeholder) -> String
    ) throws(InvalidInput) -> JSONObject {
        var replaced: [Element] = []
        for (name, value) in self {
            do throws(InvalidInput) { replaced.append((name, try value.replacingPlaceholders(context, replace))) } catch
            {
                throw error.under("\(field).\(name)")
            }
        }
        return JSONObject(replaced)
    }
}

extension InvalidInput {
    /// The fault with its field placed below `path`.
    fileprivate func under(_ path: String) -> InvalidInput { InvalidInput(field: path + field, problem) }
}
