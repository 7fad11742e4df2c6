/// Reads one JSON value from bytes by recursive descent.
///
/// Its own code, since simulators share none with the clients they check.
struct JSONText {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    private static let depthMax = 64

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

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
