/// A JSON value, read strictly: RFC 8259, UTF-8, no key in an object that repeats another byte by byte.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Sendable, Equatable {
        var key: String
        var value: JSON
    }

    init?(_ bytes: [UInt8]) {
        let value = bytes.withUnsafeBufferPointer { bytes -> JSON? in
            var reader = JSONText(bytes: bytes)
            return reader.readAll()
        }
        guard let value else { return nil }
        self = value
    }

    subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var array: [JSON]? { if case .array(let values) = self { values } else { nil } }
    var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    var integer: Int64? {
        guard case .number(let value) = self, value == value.rounded(), abs(value) < 0x1p53 else { return nil }
        return Int64(value)
    }

    /// An array of nothing but strings.
    var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }
}

/// A text in its JSON form.
extension String {
    var quoted: String {
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20:
                text += "\\u00" + Hex.encode([UInt8(scalar.value)])
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

/// The required shape of a JSON value, as protocol buffers in JSON are read: absent and null are the same, names are in
/// snake case or in camel case.
indirect enum JSONShape: Sendable {
    case string
    case bool
    case integer
    case number
    /// Seconds with at most nine decimal places, and an `s`.
    case duration
    case oneOf(Set<String>)
    case strings
    /// String to string.
    case texts
    case list(JSONShape)
    /// Any object.
    case anything
    case object([String: JSONShape])

    /// The fault and its path; nil when there is none.
    func complaint(about value: JSON, at path: String = "") -> (field: String, message: String)? {
        if value == .null { return nil }
        switch self {
        case .string: return value.string == nil ? Self.wrong(path, "TYPE_STRING") : nil
        case .bool: return value.bool == nil ? Self.wrong(path, "TYPE_BOOL") : nil
        case .integer:
            return value.integer ?? value.string.flatMap(Int64.init) == nil ? Self.wrong(path, "TYPE_INT32") : nil
        case .number:
            if case .number = value { return nil }
            return Self.wrong(path, "TYPE_FLOAT")
        case .duration:
            guard let text = value.string, Self.seconds(text) != nil else {
                return Self.wrong(path, "type.googleapis.com/google.protobuf.Duration")
            }
            return nil
        case .oneOf(let words):
            guard let word = value.string, words.contains(word.uppercased()) else { return Self.wrong(path, "enum") }
            return nil
        case .strings: return Self.list(.string, value, path)
        case .list(let shape): return Self.list(shape, value, path)
        case .texts: return Self.texts(value, path)
        case .anything: return value.members == nil ? Self.wrong(path, "TYPE_MESSAGE") : nil
        case .object(let shapes): return Self.object(shapes, value, path)
        }
    }

    /// The seconds of a duration; nil when it is malformed. Source: the JSON form of google.protobuf.Duration.
    static func seconds(_ text: String) -> Double? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            parts.count < 2 || parts[1].count <= 9
        else { return nil }
        return Double(text.dropLast())
    }

    private static func wrong(_ path: String, _ type: String) -> (field: String, message: String) {
        (path, "Invalid value at '\(path)' (\(type))")
    }

    private static func list(_ shape: JSONShape, _ value: JSON, _ path: String) -> (field: String, message: String)? {
        guard let values = value.array else { return wrong(path, "TYPE_LIST") }
        for (index, value) in values.enumerated() {
            if let complaint = shape.complaint(about: value, at: "\(path)[\(index)]") { return complaint }
        }
        return nil
    }

    private static func texts(_ value: JSON, _ path: String) -> (field: String, message: String)? {
        guard let members = value.members else { return wrong(path, "TYPE_MESSAGE") }
        for (index, member) in members.enumerated() where member.value.string == nil {
            return wrong("\(path)[\(index)].value", "TYPE_STRING")
        }
        return nil
    }

    private static func object(
        _ shapes: [String: JSONShape], _ value: JSON, _ path: String
    ) -> (field: String, message: String)? {
        guard let members = value.members else { return wrong(path, "TYPE_MESSAGE") }
        for member in members {
            guard let shape = shapes[member.key] ?? shapes[snakeCase(member.key)] else {
                let place = path.isEmpty ? "" : " at '\(path)'"
                let message =
                    #"Invalid JSON payload received. Unknown name "\#(member.key)"\#(place): Cannot find field."#
                return (path, message)
            }
            let inner = path.isEmpty ? member.key : "\(path).\(member.key)"
            if let complaint = shape.complaint(about: member.value, at: inner) { return complaint }
        }
        return nil
    }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}

/// Reads one JSON value from bytes by recursive descent.
///
/// Its own code, since simulators share none with the clients they check.
struct JSONText {
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index = 0
    private static let depthMax = 64

    /// The value of the whole text; nil when it is malformed.
    mutating func readAll() -> JSON? {
        guard let value = read(depth: 0) else { return nil }
        skipSpace()
        return index == bytes.count ? value : nil
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard next == byte.asciiValue else { return false }
        index += 1
        return true
    }

    private mutating func read(depth: Int) -> JSON? {
        guard depth < Self.depthMax else { return nil }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return readObject(depth)
        case UInt8(ascii: "["): return readArray(depth)
        case UInt8(ascii: "\""): return readString().map { .string($0) }
        case UInt8(ascii: "t"): return readWord("true").map { .bool(true) }
        case UInt8(ascii: "f"): return readWord("false").map { .bool(false) }
        case UInt8(ascii: "n"): return readWord("null").map { .null }
        default: return readNumber()
        }
    }

    private mutating func readWord(_ word: StaticString) -> Void? {
        let count = word.utf8CodeUnitCount
        guard index + count <= bytes.count else { return nil }
        for offset in 0..<count where bytes[index + offset] != word.utf8Start[offset] { return nil }
        index += count
        return ()
    }

    private mutating func readObject(_ depth: Int) -> JSON? {
        index += 1
        var members: [JSON.Member] = []
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\""), let key = readString() else { return nil }
            guard !members.contains(where: { $0.key.utf8.elementsEqual(key.utf8) }) else { return nil }
            skipSpace()
            guard take(":"), let value = read(depth: depth + 1) else { return nil }
            members.append(.init(key: key, value: value))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { return nil }
        }
    }

    private mutating func readArray(_ depth: Int) -> JSON? {
        index += 1
        var values: [JSON] = []
        skipSpace()
        if take("]") { return .array(values) }
        while true {
            guard let value = read(depth: depth + 1) else { return nil }
            values.append(value)
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { return nil }
        }
    }

    private mutating func readNumber() -> JSON? {
        let start = index
        _ = take("-")
        if !take("0") { guard skipDigits() else { return nil } }
        if take(".") { guard skipDigits() else { return nil } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard skipDigits() else { return nil }
        }
        return Double(String(decoding: bytes[start..<index], as: UTF8.self)).map { .number($0) }
    }

    private mutating func skipDigits() -> Bool {
        let start = index
        while let byte = next, byte &- UInt8(ascii: "0") < 10 { index += 1 }
        return index > start
    }
}

// MARK: - Strings

extension JSONText {
    private mutating func readString() -> String? {
        index += 1
        let start = index
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
        if take("\"") { return String(validating: bytes[start..<index - 1], as: UTF8.self) }
        var text = Array(bytes[start..<index])
        while let byte = next, byte >= 0x20 {
            index += 1
            if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
            if byte != UInt8(ascii: "\\") {
                text.append(byte)
            } else {
                guard let scalar = readEscape() else { return nil }
                text.append(contentsOf: Character(scalar).utf8)
            }
        }
        return nil
    }

    private mutating func readEscape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return readUnicode()
        default: return nil
        }
    }

    private mutating func readUnicode() -> Unicode.Scalar? {
        guard let unit = readFourDigits() else { return nil }
        guard unit & 0xFC00 == 0xD800 else { return Unicode.Scalar(unit) }
        guard take("\\"), take("u"), let low = readFourDigits(), low & 0xFC00 == 0xDC00 else { return nil }
        return Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF)
    }

    private mutating func readFourDigits() -> UInt32? {
        guard index + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hex.value(bytes[index]) else { return nil }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }
}
