// Names of topics, users, aliases and so on. Blanks around a name are not part of it: people and spreadsheets leave them there.

extension String {
    /// Normalization Form C, without the blanks and invisible marks around it.
    package var asName: String { isPlainName ? self : withoutBlanksAround.normalized }

    /// The name in Normalization Form C, as `asName`; throws where it is empty then, or has control characters.
    package func asName(field: String) throws(InvalidInput) -> String {
        if isPlainName { return self }
        let name = withoutBlanksAround.normalized
        guard !name.isEmpty else { throw InvalidInput(field: field, isEmpty ? "is empty" : "is blank") }
        try name.checkControls(field: field)
        return name
    }

    /// Throws where it contains a control character or the end of a line.
    package func checkControls(field: String) throws(InvalidInput) {
        if isPlainName { return }
        guard let control = unicodeScalars.first(where: \.endsLineOrControls) else { return }
        throw InvalidInput(field: field, "holds the control character U+\(control.hexDigits)")
    }

    /// Printable ASCII with no blank around it: most names are, and cost this one pass.
    private var isPlainName: Bool {
        guard let first = utf8.first, let last = utf8.last, first != 0x20, last != 0x20 else { return false }
        return utf8.allSatisfy { 0x20..<0x7F ~= $0 }
    }

    private var withoutBlanksAround: String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.isBlank && !$0.isVariationSelector }),
            let last = scalars.lastIndex(where: { !$0.isBlank })
        else { return "" }
        return String(scalars[first...last])
    }
}

extension Unicode.Scalar {
    /// White space, and what shows nothing at the ends of a text: joiners, marks of direction, the byte order mark.
    fileprivate var isBlank: Bool {
        switch value {
        case 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x2064, 0x2066...0x2069, 0xFEFF: true
        default: properties.isWhitespace
        }
    }

    /// It says how the character before it looks.
    fileprivate var isVariationSelector: Bool { 0xFE00...0xFE0F ~= value }

    fileprivate var endsLineOrControls: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    fileprivate var hexDigits: String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
