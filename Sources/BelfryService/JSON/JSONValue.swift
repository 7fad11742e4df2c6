/// Any JSON value, for the parts of a push that belong to the app and not to us.
///
/// It is written as it was read: numbers keep their digits, and objects keep the order of their members.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// A whole number of 64 bits, without a sign where it is 0.
    case integer(Int64)
    /// Any other.
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package static func strings(_ strings: [String]) -> JSONValue { .array(strings.map(JSONValue.string)) }

    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    package var stringValue: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    /// The members of an object. Throws on anything else.
    func demandObject(_ field: @autoclosure () -> String) throws(InvalidInput) -> JSONObject {
        guard case .object(let members) = self else {
            throw InvalidInput(field: field(), "has to be an object, it is \(typeName)")
        }
        return members
    }

    /// The elements of an array. Throws on anything else.
    func demandArray(_ field: @autoclosure () -> String) throws(InvalidInput) -> [JSONValue] {
        guard case .array(let elements) = self else {
            throw InvalidInput(field: field(), "has to be an array, it is \(typeName)")
        }
        return elements
    }

    /// The text of a string. Throws on anything else.
    func demandText(_ field: @autoclosure () -> String) throws(InvalidInput) -> String {
        guard case .string(let text) = self else {
            throw InvalidInput(field: field(), "has to be a string, it is \(typeName)")
        }
        return text
    }

    /// The members of an object that has no others.
    func members(_ field: String, of names: [String]) throws(InvalidInput) -> JSONObject {
        let members = try demandObject(field)
        for (name, _) in members where !names.contains(name) {
            throw InvalidInput.unknown("\(field).\(name)", instead: names)
        }
        return members
    }

    /// The elements of an array of strings. Throws on anything else.
    package func strings(_ field: String) throws(InvalidInput) -> [String] {
        try demandArray(field).enumerated().map { (index, element) throws(InvalidInput) in
            try element.demandText("\(field)[\(index)]")
        }
    }

    package var isNull: Bool { self == .null }

    /// A whole number in any notation: 3, 3.0 or 3e0. nil where a double stands for several.
    package var wholeNumber: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number.double).flatMap { $0.magnitude < 1 << 53 ? $0 : nil }
        default: nil
        }
    }

    /// The string form: a text as it is, anything else as JSON.
    package var flat: String {
        if case .string(let text) = self { return text }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The type's name in error messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Texts are compared by their bytes, and numbers as they are written.
extension JSONValue: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)):
            left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let bool): hasher.combine(bool)
        case .integer(let integer): hasher.combine(integer)
        case .number(let number): hasher.combine(number)
        // By its bytes, as it is compared: texts that Unicode takes for equal would all have one hash.
        case .string(let text): hasher.combine(KeyBytes(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSONValue {
    /// The value with the members of objects in the order of their keys, so that equal values have equal texts.
    package var sorted: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(JSONObject(members.map { (key: $0.key, value: $0.value.sorted) }.sorted { $0.key < $1.key }))
        default: self
        }
    }

    /// Reads a JSON text. Throws `InvalidInput` on `field`, or on `body` where it is malformed.
    package init(json bytes: some Sequence<UInt8>, field: String = "body") throws(InvalidInput) {
        self = try JSONReader.text(Array(bytes), field: field)
    }
}

/// A number as it was written: with all of its digits, its trailing zeros and its exponent.
///
/// An app's data may hold an amount of money or an id of any length, which a double would alter.
package struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// - Parameter text: a number of JSON, which a double can hold roughly.
    init(text: String) { self.text = text }

    /// Writes a double in its shortest form; a whole number has no point. JSON cannot express infinities and NaN: they become null.
    package init(_ double: Double) {
        var bytes: [UInt8] = []
        bytes.append(json: double)
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The nearest double.
    package var double: Double { Double(text) ?? .nan }

    package var description: String { text }
}

extension JSONNumber: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    package init(floatLiteral double: Double) { self.init(double) }

    package init(integerLiteral integer: Int64) { text = String(integer) }
}

extension JSONReader {
    /// A number, or a string that spells one as JSON does.
    package mutating func number(_ field: String) throws(InvalidInput) -> Double? {
        let value = try value(field)
        switch value {
        case .null: return nil
        case .integer(let integer): return Double(integer)
        case .number(let number): return number.double
        case .string(let text):
            guard let number = Double(spelled: text) else {
                throw InvalidInput(field: field, "has to be a number, it is a string of something else")
            }
            return number
        default: throw InvalidInput(field: field, "has to be a number, it is \(value.typeName)")
        }
    }

    /// Reads the single value of a text, to its end.
    package static func text(_ bytes: [UInt8], field: String) throws(InvalidInput) -> JSONValue {
        var reader = JSONReader(bytes, called: field)
        let value = try reader.value(field)
        try reader.end()
        return value
    }

    /// Whole numbers, or strings that spell them.
    package mutating func integers(_ field: String) throws(InvalidInput) -> [Int64]? {
        if try null() { return nil }
        var integers: [Int64] = []
        try array(field) { reader, index throws(InvalidInput) in
            let element = "\(field)[\(index)]"
            guard let integer = try reader.integer(element) else {
                throw InvalidInput(field: element, "has to be a whole number, it is null")
            }
            integers.append(integer)
        }
        return integers
    }

    /// Reads an object with members of the caller's own.
    ///
    /// - Parameter bytesMax: the limit on its text.
    package mutating func members(
        _ field: String, bytesMax: Int = PushLimits.contentWrittenBytesMax
    ) throws(InvalidInput) -> JSONObject? {
        let value = try value(field, bytesMax: bytesMax)
        switch value {
        case .null: return nil
        case .object(let members): return members
        default: throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)")
        }
    }
}

extension Double {
    /// Swift itself also accepts hexadecimal, infinities and other forms.
    init?(spelled text: String) {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isPlain, let number = Double(text), number.isFinite else { return nil }
        self = number
    }
}
