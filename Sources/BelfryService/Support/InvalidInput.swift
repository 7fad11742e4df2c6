/// A fault in a caller's request: the field, and a sentence that names what was found and the limit.
package struct InvalidInput: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the field as the caller spells it, such as `target.topics[3]`.
    package let field: String
    package let problem: String
    /// Whether a message is refused for its size. Where one platform refuses it, others may take it.
    package let isTooLarge: Bool

    package init(field: String, _ problem: String, isTooLarge: Bool = false) {
        self.field = field
        self.problem = problem
        self.isTooLarge = isTooLarge
    }

    /// The refusal of a message in the form that a platform gets.
    ///
    /// - Parameter taker: whose limit it is.
    static func tooLarge(
        field: String = "message", _ payload: String, bytes: Int, _ taker: String = "the limit is", limit: Int
    ) -> Self {
        Self(field: field, "makes \(payload) payload of \(bytes) bytes, \(taker) \(limit)", isTooLarge: true)
    }

    /// The refusal of a value.
    ///
    /// - Parameter known: the accepted texts, where they are few: the nearest is named.
    package static func value(
        _ field: String, _ value: JSONValue, not expected: String, known: [String] = []
    ) -> Self {
        let meant = value.stringValue.flatMap { known.nearest(to: $0) }.map { " (is \($0) meant?)" } ?? ""
        return Self(field: field, "has to be \(expected), it is \(value.found)\(meant)")
    }

    /// The refusal of a text that is none of the known ones, with the nearest of them.
    package static func choice(_ field: String, _ text: String, of known: [String]) -> Self {
        let meant = known.nearest(to: text).map { " (is \($0) meant?)" } ?? ""
        return Self(
            field: field, "is '\(text.cut(toBytes: 64))'\(meant), it has to be one of \(known.joined(separator: ", "))")
    }

    /// The fault of a text that has to be one of a few.
    package static func value(_ field: String, _ value: JSONValue, notOneOf known: [String]) -> Self {
        .value(field, value, not: "one of \(known.joined(separator: ", "))", known: known)
    }

    /// The fault with the field names of another API.
    package func renamed(_ names: [String: String]) -> Self {
        names[field].map { Self(field: $0, problem, isTooLarge: isTooLarge) } ?? self
    }

    package var description: String { "\(field) \(problem)" }

    /// The fault of a push that other platforms take.
    package var ofDevices: String { "\(self): its devices are refused, others get it" }
}

extension JSONValue {
    /// A human-readable form: the value where it is short, or else its type.
    fileprivate var found: String {
        switch self {
        case .string(let text) where text.count <= 40: "'\(text)'"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        default: typeName
        }
    }
}
