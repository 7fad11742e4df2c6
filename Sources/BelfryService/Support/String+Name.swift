// Names of topics, users, aliases and so on. Blanks around a name are not part of it: people and spreadsheets leave them there.

@_spi(_Unicode) import Swift

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

    /// As `asName`; throws where it has more bytes than a limit, too.
    package func asName(field: String, bytesMax: Int) throws(InvalidInput) -> String {
        let name = try asName(field: field)
        guard name.utf8.count <= bytesMax else {
            throw InvalidInput(field: field, "is \(name.utf8.count) bytes, the limit is \(bytesMax)")
        }
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

// Names from outside. Texts that look equal to readers must be equal bytes, in Swift as in SQL.

extension String {
    /// Normalization Form C. ASCII is in that form already, and costs one pass. Source: Unicode Standard Annex #15.
    package var normalized: String { utf8.allSatisfy { $0 < 0x80 } ? self : Self(scalars: _nfc) }

    /// Case folded, and without marks on letters: `łódź` is `lodz`. For a search alone, since names that differ become equal.
    var withoutMarks: String {
        let letters: [Unicode.Scalar: Unicode.Scalar] = [
            "ł": "l", "ø": "o", "đ": "d", "ı": "i", "’": "'", "‘": "'", "`": "'", "ʻ": "'", "-": " ",
        ]
        let folded = Self(
            scalars: caseFolded._nfd.lazy.filter { $0.properties.canonicalCombiningClass == .notReordered })
        return Self(scalars: folded.unicodeScalars.map { letters[$0] ?? $0 })
    }

    /// Normalization Form C with case folded, for names that compare without case: full folding, in no language's own way.
    /// Source: The Unicode Standard, section 3.13, toCasefold; CaseFolding.txt, statuses C and F.
    ///
    /// Most names are lower-case ASCII already: one pass then.
    package var caseFolded: String {
        var isFolded = true
        for byte in utf8 {
            guard byte < 0x80 else { return foldedScalars }
            if 0x41...0x5A ~= byte { isFolded = false }
        }
        return isFolded ? self : lowercased()
    }

    private var foldedScalars: String { Self(scalars: Self(scalars: _nfc.lazy.flatMap(\.caseFolded))._nfc) }

    /// Lower case in Normalization Form C, for names that other programs compare in lower case.
    package var lowerCase: String { normalized.lowercased().normalized }

    private init(scalars: some Sequence<Unicode.Scalar>) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }
}

extension Unicode.Scalar {
    /// The lower case of the upper case is the folded form, but for Cherokee, which folds to upper case, and the dotless i, which is a
    /// letter of its own. See `TextOracleTests`.
    fileprivate var caseFolded: [Unicode.Scalar] {
        switch value {
        case 0x131, 0x13A0...0x13F5: [self]
        case 0x13F8...0x13FD, 0xAB70...0xABBF: Array(properties.uppercaseMapping.unicodeScalars)
        default:
            properties.lowercaseMapping.unicodeScalars.flatMap(\.properties.uppercaseMapping.unicodeScalars)
                .flatMap(\.properties.lowercaseMapping.unicodeScalars)
        }
    }
}

extension String {
    /// With percent signs for all but the unreserved characters. Source: RFC 3986 §2.3.
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            if byte.isUnreserved {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), (byte >> 4).upperHexDigit, (byte & 15).upperHexDigit]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Keeps malformed percent-encoding as it is.
    package init(percentDecoding text: Substring, plusIsSpace: Bool = false) {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let digits = bytes[(index + 1)...].prefix(2)
            if bytes[index] == UInt8(ascii: "%"), digits.count == 2, let byte = [UInt8](hex: digits)?.first {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(plusIsSpace && bytes[index] == UInt8(ascii: "+") ? 0x20 : bytes[index])
                index += 1
            }
        }
        self = String(validating: decoded, as: UTF8.self) ?? String(text)
    }
}

extension UInt8 {
    /// Whether it is a character that URLs have as it is. Source: RFC 3986 §2.3.
    var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    /// In upper case, of a number below 16.
    fileprivate var upperHexDigit: UInt8 { self < 10 ? self + 0x30 : self + 0x37 }
}

extension String {
    /// The number of insertions, removals and replacements that make the other text: the Levenshtein distance.
    package func edits(to other: String) -> Int {
        var row = Array(0...other.utf8.count)
        for (index, letter) in utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, another) in other.utf8.enumerated() {
                let replaced = diagonal + (letter == another ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.utf8.count]
    }

    /// The longest beginning of whole characters that fits.
    func prefix(bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var text = Substring(self).prefix(bytes)
        while text.utf8.count > bytes { text.removeLast() }
        return String(text)
    }
}

/// Makes untrusted texts safe for a terminal, a log or a file of lines.
extension StringProtocol {
    /// The text with its control characters escaped as in JSON: it cannot move a cursor, start a command of a terminal, end a line or
    /// change the direction of the text behind it. Inside a JSON string its meaning stays.
    ///
    /// - Parameter keepsLines: whether line feeds stay as they are.
    package func withoutControls(keepsLines: Bool = false) -> String {
        let isPlain = utf8.allSatisfy { 0x20..<0x7F ~= $0 || (keepsLines && $0 == UInt8(ascii: "\n")) }
        if isPlain { return String(self) }
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": escaped += keepsLines ? "\n" : "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where scalar.isControl:
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// C0, DEL and C1; line and paragraph separators; marks, embeddings, overrides and isolates of direction; the byte order mark and
    /// annotations, which are not shown. All are below U+10000. Joiners stay: scripts and pictures need them.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFEFF, 0xFFF9...0xFFFB:
            true
        default: false
        }
    }
}
