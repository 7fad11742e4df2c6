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
        case .string(let text): hasher.combine(text)
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
