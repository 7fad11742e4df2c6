import BelfryCore

/// The fields entered for a platform; null counts as not given.
struct EnteredFields {
    private let values: [String: JSONValue]

    /// Throws `InvalidInput` when there are fields that the provider does not know.
    init(_ entered: [String: JSONValue], of provider: String, known: [String]) throws(InvalidInput) {
        values = entered.filter { !$0.value.isNull }
        for field in values.keys.sorted() where !known.contains(field) {
            throw InvalidInput(
                field: field, "is not a field of \(provider) credentials, which are \(known.joined(separator: ", "))")
        }
    }

    subscript(field: String) -> JSONValue? { values[field] }

    func text(_ field: String) throws(InvalidInput) -> String {
        guard let text = try textIfAny(field) else { throw InvalidInput(field: field, "is missing") }
        guard !text.isEmpty else { throw InvalidInput(field: field, "is empty") }
        return text
    }

    /// A JSON document, entered as a text or as an object.
    func documentIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let document = values[field], case .object = document else { return try textIfAny(field) }
        return String(decoding: document.encoded, as: UTF8.self)
    }

    func textIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let value = values[field] else { return nil }
        guard let text = value.stringValue else {
            throw InvalidInput(field: field, "has to be a string, it is \(value.typeName)")
        }
        return text
    }
}
