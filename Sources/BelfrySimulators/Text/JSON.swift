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
            var reader = JSONText(bytes)
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
