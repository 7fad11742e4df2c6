/// Reads a JSON text from front to back, straight into the values its caller wants. It reads all JSON that callers send
/// or stores keep.
///
/// A pull parser over bytes: no tree is built, so a registration costs one pass, and a text of any shape costs time in
/// proportion to its length. It is strict about the grammar (RFC 8259) and about UTF-8, and bounded in depth. Every fault
/// is an `InvalidInput` that names the field, or the byte where the text stops being JSON; no input traps. Of a key that
/// stands twice the last one counts.
///
/// Why not `JSONDecoder`: docs/decisions/0004-json-in-one-pass.md.
package struct JSONReader {
    private let bytes: [UInt8]
    /// The name of the whole text, for faults in its form.
    private let textName: String
    private var position = 0
    private var depth = 0
    /// The start of a value whose length is limited, and the limit.
    private var bounded: (start: Int, bytesMax: Int)?

    /// Far above what any app nests, far below what a stack holds.
    package static let depthMax = 64
    /// The longest number, in bytes. The longest useful ones have 25 digits.
    package static let numberBytesMax = 128

    package init(_ bytes: [UInt8], called textName: String = "body") {
        (self.bytes, self.textName) = (bytes, textName)
        // Some clients on Windows put a byte order mark before the text.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Reads the one object of a request body, to the end of the text.
    package static func document(
        _ bytes: [UInt8], member: (inout JSONReader, String) throws(InvalidInput) -> Void
    ) throws(InvalidInput) {
        var reader = try JSONReader(body: bytes, of: "a JSON object")
        try reader.object("body", member: member)
        try reader.end()
    }

    /// Reads the one array of a request body, to the end of the text.
    package static func list(
        _ bytes: [UInt8], element: (inout JSONReader, Int) throws(InvalidInput) -> Void
    ) throws(InvalidInput) {
        var reader = try JSONReader(body: bytes, of: "a JSON array")
        try reader.array("body", element: element)
        try reader.end()
    }

    private init(body bytes: [UInt8], of type: String) throws(InvalidInput) {
        self.init(bytes)
        skipSpace()
        guard position < bytes.count else { throw InvalidInput(field: "body", "is empty, it has to be \(type)") }
    }

    mutating func end() throws(InvalidInput) {
        skipSpace()
        guard position == bytes.count else { throw malformed("expected the end") }
    }

    // MARK: Containers

    /// Calls `member` for each key, with the reader standing at its value, which `member` has to read or `skip`.
    package mutating func object(
        _ field: String, member: (inout JSONReader, String) throws(InvalidInput) -> Void
    ) throws(InvalidInput) {
        guard peek() == UInt8(ascii: "{") else { throw mismatch(field, "an object") }
        try open()
        if take(UInt8(ascii: "}")) { return close() }
        while true {
            guard peek() == UInt8(ascii: "\"") else { throw malformed("expected a key in quotes") }
            let key = try text("a key")
            guard take(UInt8(ascii: ":")) else { throw malformed("expected ':' behind a key") }
            try member(&self, key)
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw malformed("expected ',' or '}'") }
            return close()
        }
    }

    /// Calls `element` with the index of each element, with the reader standing at its value.
    package mutating func array(
        _ field: String, element: (inout JSONReader, Int) throws(InvalidInput) -> Void
    ) throws(InvalidInput) {
        guard peek() == UInt8(ascii: "[") else { throw mismatch(field, "an array") }
        try open()
        if take(UInt8(ascii: "]")) { return close() }
        var index = 0
        while true {
            try element(&self, index)
            index += 1
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw malformed("expected ',' or ']'") }
            return close()
        }
    }

    // MARK: Typed values. `null` counts as missing.

    package mutating func string(_ field: String) throws(InvalidInput) -> String? {
        if try null() { return nil }
        guard peek() == UInt8(ascii: "\"") else { throw mismatch(field, "a string") }
        return try text(field)
    }

    package mutating func strings(_ field: String) throws(InvalidInput) -> [String]? {
        if try null() { return nil }
        guard peek() == UInt8(ascii: "[") else { throw mismatch(field, "an array of strings") }
        var strings: [String] = []
        try array(field) { reader, index throws(InvalidInput) in
            guard reader.peek() == UInt8(ascii: "\"") else { throw reader.mismatch("\(field)[\(index)]", "a string") }
            strings.append(try reader.text(field))
        }
        return strings
    }

    /// A whole number, or a string that spells one: some senders quote their numbers.
    package mutating func integer(_ field: String) throws(InvalidInput) -> Int64? {
        if try null() { return nil }
        guard !isAtContainer() else { throw mismatch(field, "a whole number") }
        let start = position
        let value = try value(field)
        switch value {
        case .integer, .number:
            guard let integer = value.wholeNumber else {
                throw InvalidInput(field: field, "has to be a whole number of 64 bits")
            }
            return integer
        case .string(let text):
            guard let integer = Int64(text) else {
                throw InvalidInput(field: field, "has to be a whole number, it is a string of something else")
            }
            return integer
        default:
            position = start
            throw mismatch(field, "a whole number")
        }
    }

    /// A boolean, or a string that spells one.
    package mutating func bool(_ field: String) throws(InvalidInput) -> Bool? {
        if try null() { return nil }
        guard !isAtContainer() else { throw mismatch(field, "true or false") }
        let start = position
        switch try value(field) {
        case .bool(let bool): return bool
        case .string("true"): return true
        case .string("false"): return false
        default:
            position = start
            throw mismatch(field, "true or false")
        }
    }

    /// Whether the next value is an object, for the few fields that take two types.
    package mutating func isAtObject() -> Bool { peek() == UInt8(ascii: "{") }

    /// Whether the next value is an object or an array, which may be large and is not read where it does not belong.
    private mutating func isAtContainer() -> Bool { isAtObject() || peek() == UInt8(ascii: "[") }

    /// Consumes a `null`, if it comes next.
    package mutating func null() throws(InvalidInput) -> Bool {
        guard peek() == UInt8(ascii: "n") else { return false }
        try literal("null")
        return true
    }

    // MARK: Any value

    /// Like `value`, for a text of limited length. Many small values take far more memory and time than their text.
    package mutating func value(_ field: String, bytesMax: Int) throws(InvalidInput) -> JSONValue {
        skipSpace()
        bounded = (position, bytesMax)
        defer { bounded = nil }
        let value = try value(field)
        try checkLength(field)
        return value
    }

    private func checkLength(_ field: String) throws(InvalidInput) {
        guard let bounded, position - bounded.start > bounded.bytesMax else { return }
        throw InvalidInput(field: field, "is written in more than \(bounded.bytesMax) bytes, which is the limit")
    }

    package mutating func value(_ field: String) throws(InvalidInput) -> JSONValue {
        try checkLength(field)
        switch peek() {
        case UInt8(ascii: "{"):
            var members: [JSONObject.Member] = []
            try object(field) { reader, key throws(InvalidInput) in members.append((key, try reader.value(field))) }
            return .object(JSONObject(members))
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try array(field) { reader, _ throws(InvalidInput) in elements.append(try reader.value(field)) }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(try text(field))
        case UInt8(ascii: "t"):
            try literal("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try literal("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try literal("null")
            return .null
        default: return try number(field)
        }
    }

    /// Reads a value and drops it.
    package mutating func skip() throws(InvalidInput) {
        switch peek() {
        case UInt8(ascii: "{"): try object("body") { reader, _ throws(InvalidInput) in try reader.skip() }
        case UInt8(ascii: "["): try array("body") { reader, _ throws(InvalidInput) in try reader.skip() }
        default: _ = try value("body")
        }
    }

    // MARK: Tokens

    private mutating func open() throws(InvalidInput) {
        depth += 1
        guard depth <= Self.depthMax || PlantedFaults.contains("json-depth") else {
            throw InvalidInput(
                field: textName, "is nested too deep at byte \(position), the limit is \(Self.depthMax) levels")
        }
        position += 1
    }

    private mutating func close() { depth -= 1 }

    /// The first byte of the next token; nil at the end.
    private mutating func peek() -> UInt8? {
        skipSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func literal(_ word: StaticString) throws(InvalidInput) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard position < bytes.count, bytes[position] == word.utf8Start[index] else {
                position = start
                throw malformed("expected a value")
            }
            position += 1
        }
    }

    private mutating func number(_ field: String) throws(InvalidInput) -> JSONValue {
        let start = position
        let isNegative = position < bytes.count && bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let digits = skipDigits()
        guard digits > 0 else {
            position = start
            throw malformed("expected a value")
        }
        guard digits == 1 || bytes[position - digits] != UInt8(ascii: "0") else {
            throw malformed("expected no digits behind a leading 0")
        }
        var isWhole = true
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            guard skipDigits() > 0 else { throw malformed("expected a digit behind the decimal point") }
        }
        var hasExponent = false
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            (isWhole, hasExponent) = (false, true)
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
                position += 1
            }
            guard skipDigits() > 0 else { throw malformed("expected a digit in the exponent") }
        }
        guard position - start <= Self.numberBytesMax else {
            throw InvalidInput(
                field: field, "is a number of \(position - start) digits, the limit is \(Self.numberBytesMax)")
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let integer = Int64(text), integer != 0 || !isNegative {
            return .integer(integer)
        }
        // Without an exponent no number of this length is too large.
        if hasExponent {
            guard Double(text)?.isFinite == true else {
                throw InvalidInput(field: field, "is a number beyond 1.8e308, the limit")
            }
        }
        return .number(JSONNumber(text: text))
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        return position - start
    }

    /// Reads a string; the reader stands at its opening quote.
    private mutating func text(_ field: String) throws(InvalidInput) -> String {
        position += 1
        let start = position
        var bits: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return try decoded(bytes[start..<(position - 1)], isASCII: bits < 0x80, field)
            }
            if byte == UInt8(ascii: "\\") { return try escapedText(from: start, field) }
            guard byte >= 0x20 else { throw malformed("found a control character in a string") }
            bits |= byte
            position += 1
        }
        throw malformed("the text ends inside a string")
    }

    private func decoded(
        _ utf8: ArraySlice<UInt8>, isASCII: Bool, _ field: String
    ) throws(InvalidInput) -> String {
        // ASCII needs no validation, which would not be specialized.
        if isASCII { return String(decoding: utf8, as: UTF8.self) }
        guard let string = String(validating: utf8, as: UTF8.self) else {
            throw InvalidInput(field: field, "is not valid UTF-8, in the string that ends at byte \(position)")
        }
        return string
    }

    /// The slow path, for strings with a backslash; the reader stands at the first.
    private mutating func escapedText(from start: Int, _ field: String) throws(InvalidInput) -> String {
        var utf8 = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return try decoded(utf8[...], isASCII: false, field)
            }
            guard byte >= 0x20 else { throw malformed("found a control character in a string") }
            position += 1
            if byte == UInt8(ascii: "\\") {
                try appendEscape(to: &utf8)
            } else {
                utf8.append(byte)
            }
        }
        throw malformed("the text ends inside a string")
    }

    private mutating func appendEscape(to utf8: inout [UInt8]) throws(InvalidInput) {
        guard position < bytes.count else { throw malformed("the text ends inside a string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): utf8.append(byte)
        case UInt8(ascii: "b"): utf8.append(0x08)
        case UInt8(ascii: "f"): utf8.append(0x0C)
        case UInt8(ascii: "n"): utf8.append(0x0A)
        case UInt8(ascii: "r"): utf8.append(0x0D)
        case UInt8(ascii: "t"): utf8.append(0x09)
        case UInt8(ascii: "u"): utf8.append(contentsOf: Array(Character(try scalar()).utf8))
        default: throw malformed("found a backslash before something that needs none")
        }
    }

    /// The scalar of a `\u` escape, or of two that make a surrogate pair.
    private mutating func scalar() throws(InvalidInput) -> Unicode.Scalar {
        let first = try codeUnit()
        // No text of ours needs it, and databases cannot store it.
        guard first != 0 else { throw malformed("found the character U+0000") }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw malformed("found half of a surrogate pair") }
        position += 2
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw malformed("found half of a surrogate pair") }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    private mutating func codeUnit() throws(InvalidInput) -> UInt16 {
        guard position + 4 <= bytes.count, let pair = [UInt8](hex: bytes[position..<(position + 4)]) else {
            throw malformed(#"expected four hex digits behind \u"#)
        }
        position += 4
        return UInt16(pair[0]) << 8 | UInt16(pair[1])
    }

    // MARK: Faults

    private func malformed(_ problem: String) -> InvalidInput {
        InvalidInput(field: textName, "is not valid JSON: \(problem) at \(place)")
    }

    /// The position of the reader: line and column, counted from 1, in a text of several lines, else the byte.
    private var place: String {
        let newline = UInt8(ascii: "\n")
        let read = bytes[..<position]
        guard let last = read.lastIndex(of: newline) else { return "byte \(position)" }
        return "line \(read.count { $0 == newline } + 1), column \(position - last)"
    }

    /// The value at the reader has another type; or it is not a JSON value at all.
    private mutating func mismatch(_ field: String, _ expected: String) -> InvalidInput {
        guard let found = typeName() else { return isAtForm ? Self.form : malformed("expected a value") }
        return InvalidInput(field: field, "has to be \(expected), it is \(found)")
    }

    /// The fault for fields in the form of web pages and of some tools' default: `target=news&…`.
    private static let form = InvalidInput(
        field: "body", "is not JSON but the fields of a form, such as name=value; send JSON, as application/json")

    private var isAtForm: Bool {
        guard depth == 0 else { return false }
        let rest = bytes[position...].prefix(256)
        if rest.starts(with: "--".utf8) { return true }
        let name = rest.prefix { $0 > 0x20 && !"=&{[\"".utf8.contains($0) }
        return !name.isEmpty && name.count < rest.count && rest[name.endIndex] == UInt8(ascii: "=")
    }

    private mutating func typeName() -> String? {
        switch peek() {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): isAt("true") || isAt("false") ? "a boolean" : nil
        case UInt8(ascii: "n"): isAt("null") ? "null" : nil
        case UInt8(ascii: "-"):
            bytes[position...].dropFirst().first.map { 0x30...0x39 ~= $0 } == true ? "a number" : nil
        case 0x30?, 0x31?, 0x32?, 0x33?, 0x34?, 0x35?, 0x36?, 0x37?, 0x38?, 0x39?: "a number"
        default: nil
        }
    }

    /// Whether a whole word is next.
    private func isAt(_ word: StaticString) -> Bool {
        let rest = bytes[position...]
        guard word.withUTF8Buffer({ rest.starts(with: $0) }) else { return false }
        return rest.dropFirst(word.utf8CodeUnitCount).first.map { " \r\n\t,]}".utf8.contains($0) } ?? true
    }
}

/// The texts that administrators give to things.
extension JSONReader {
    /// Reads a name; nil for `null`.
    mutating func name(_ field: String) throws(InvalidInput) -> Name? {
        try string(field).map { (text) throws(InvalidInput) in try Name(text, field: field) }
    }

    /// Reads a description; nil for `null`.
    mutating func description(_ field: String) throws(InvalidInput) -> Description? {
        try string(field).map { (text) throws(InvalidInput) in try Description(text, field: field) }
    }

    /// A time in milliseconds since 1970, up to the year 9999; 0 and below are left to the caller.
    ///
    /// A smaller number is almost certainly a time in seconds, which would be taken for a day of January 1970: every push would
    /// have expired.
    mutating func milliseconds(_ field: String) throws(InvalidInput) -> Int64? {
        let time = try integer(field)
        if let time, 1..<100_000_000_000 ~= time {
            throw InvalidInput(field: field, "is in seconds; milliseconds are expected, and it is \(time)")
        }
        return try time.map { time throws(InvalidInput) in try Instant(time, field: field).milliseconds }
    }
}
