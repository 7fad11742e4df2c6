/// The texts that administrators give to things.
extension JSONReader {
    /// Reads a name; nil for `null`.
    mutating func name(_ field: String) throws(InvalidInput) -> Name? {
        guard let text = try string(field) else { return nil }
        return try Name(text, field: field)
    }

    /// Reads a description; nil for `null`.
    mutating func description(_ field: String) throws(InvalidInput) -> Description? {
        guard let text = try string(field) else { return nil }
        return try Description(text, field: field)
    }
}
