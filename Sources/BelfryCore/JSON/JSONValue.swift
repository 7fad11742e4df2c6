/// Any JSON value, for the parts of a push that belong to the app and not to us.
///
/// Whole numbers keep 64 bits; others are doubles.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

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

extension JSONValue {
    /// Reads a JSON text. Throws `InvalidInput` on `field`, or on `body` where it is malformed.
    package init(json bytes: some Sequence<UInt8>, field: String = "body") throws(InvalidInput) {
        self = try JSONReader.text(Array(bytes), field: field)
    }
}
