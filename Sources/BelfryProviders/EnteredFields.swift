import BelfryService
import KeyFiles

/// The fields entered for a platform; null counts as not given.
///
/// Texts come out of files, consoles and environment variables: a byte order mark and line ends around a value are none of it.
struct EnteredFields {
    private let values: [String: JSONValue]

    /// Throws `InvalidInput` when there are fields that the provider does not know.
    init(_ entered: [String: JSONValue], of provider: String, known: [String]) throws(InvalidInput) {
        values = entered.filter { !$0.value.isNull }
        for field in values.keys.sorted() where !known.contains(field) {
            let nearest = known.nearest(to: field).map { "; did you mean \($0)?" } ?? ""
            throw InvalidInput(
                field: field,
                "is not a field of \(provider) credentials, which are \(known.joined(separator: ", "))\(nearest)")
        }
    }

    subscript(field: String) -> JSONValue? { values[field] }

    func text(_ field: String) throws(InvalidInput) -> String {
        guard let text = try textIfAny(field) else { throw InvalidInput(field: field, "is missing") }
        guard !text.isEmpty else { throw InvalidInput(field: field, "is empty") }
        return text
    }

    /// A JSON document, entered as a text, as an object, or as the Base64 of its text.
    func documentIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let document = values[field], case .object = document else {
            guard let text = try textIfAny(field) else { return nil }
            return try EnteredDocument(text).json(field: field)
        }
        return String(decoding: document.encoded, as: UTF8.self)
    }

    func textIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let value = values[field] else { return nil }
        guard let text = value.stringValue else {
            throw InvalidInput(field: field, "has to be a string, it is \(value.typeName)")
        }
        return Self.trimmed(text)
    }

    static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        while let last = scalars.last, last == "\n" || last == "\r" { scalars.removeLast() }
        while let first = scalars.first, first == "\n" || first == "\r" { scalars.removeFirst() }
        return String(scalars)
    }
}
