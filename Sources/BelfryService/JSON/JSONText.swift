/// Writes compact JSON. A text that `JSONReader` read is written with the same members in the same order, and the same digits.
extension [UInt8] {
    package mutating func append(json value: JSONValue) {
        switch value {
        case .null: append(contentsOf: "null".utf8)
        case .bool(let bool): append(contentsOf: (bool ? "true" : "false").utf8)
        case .integer(let integer): append(contentsOf: String(integer).utf8)
        case .number(let number): append(contentsOf: number.text.utf8)
        case .string(let string): append(jsonString: string)
        case .array(let elements):
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: element)
            }
            append(UInt8(ascii: "]"))
        case .object(let members): append(json: members)
        }
    }

    private mutating func append(json members: JSONObject) {
        append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(jsonString: member.key)
            append(UInt8(ascii: ":"))
            append(json: member.value)
        }
        append(UInt8(ascii: "}"))
    }

    /// Writes a double in its shortest form, a whole number without a point. JSON cannot express infinities and NaN: they are written
    /// as null.
    package mutating func append(json number: Double) {
        guard number.isFinite else { return append(contentsOf: "null".utf8) }
        let text = String(number)
        append(contentsOf: text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...])
    }

    /// A string in quotes, with the necessary escapes.
    package mutating func append(jsonString text: String) {
        append(UInt8(ascii: "\""))
        let start = count
        append(contentsOf: text.utf8)
        if self[start...].contains(where: \.needsEscape) {
            removeSubrange(start...)
            for byte in text.utf8 { append(escaped: byte) }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends the text as it stands between the quotes of a string.
    mutating func append(jsonEscaped text: [UInt8]) {
        guard text.contains(where: \.needsEscape) else { return append(contentsOf: text) }
        for byte in text { append(escaped: byte) }
    }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case 0x08: append(contentsOf: #"\b"#.utf8)
        case 0x09: append(contentsOf: #"\t"#.utf8)
        case 0x0A: append(contentsOf: #"\n"#.utf8)
        case 0x0C: append(contentsOf: #"\f"#.utf8)
        case 0x0D: append(contentsOf: #"\r"#.utf8)
        case 0x00...0x1F:
            append(contentsOf: #"\u00"#.utf8)
            append((byte >> 4).hexDigit)
            append((byte & 15).hexDigit)
        default: append(byte)
        }
    }
}

extension UInt8 {
    fileprivate var needsEscape: Bool { self < 0x20 || self == 0x22 || self == 0x5C }
}

extension JSONValue {
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(json: self)
        return bytes
    }

    /// The stored form, which `JSONReader` reads back as an equal value.
    package var storedText: String { String(decoding: encoded, as: UTF8.self) }

    /// With line ends and indents, for people.
    package var pretty: String { pretty(indent: "") }

    private func pretty(indent: String) -> String {
        let inner = indent + "  "
        switch self {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { name, value in
                "\(inner)\(JSONValue.string(name).storedText): \(value.pretty(indent: inner))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
        case .array(let elements) where elements.contains(where: \.isContainer):
            return "[\n\(elements.map { inner + $0.pretty(indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
        default: return storedText
        }
    }

    private var isContainer: Bool {
        switch self {
        case .object, .array: true
        default: false
        }
    }

    /// The nesting depth of the deepest value, itself included.
    var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.lazy.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.values.lazy.map(\.depth).max() ?? 0)
        default: 0
        }
    }

    /// Throws where a text in it has the one character that PostgreSQL cannot keep.
    private func checkStorable(_ field: String) throws(InvalidInput) {
        switch self {
        case .string(let text): _ = try text.storable(field)
        case .array(let elements): for element in elements { try element.checkStorable(field) }
        case .object(let members):
            for (name, value) in members {
                _ = try name.storable(field)
                try value.checkStorable(field)
            }
        default: return
        }
    }

    /// The stored form. Throws unless it is short enough, and can be read back.
    @discardableResult
    func checkStored(_ field: String, bytesMax: Int) throws(InvalidInput) -> String {
        guard depth <= JSONReader.depthMax || PlantedFaults.contains("json-depth") else {
            throw InvalidInput(
                field: field, "is nested \(depth) levels deep as it is stored, the limit is \(JSONReader.depthMax)")
        }
        try checkStorable(field)
        let text = storedText
        let bytes = text.utf8.count
        guard bytes <= bytesMax else {
            throw InvalidInput(
                field: field, "is \(bytes) bytes as it is stored, the limit is \(bytesMax)", isTooLarge: true)
        }
        return text
    }
}
