/// Notes which of the known fields of an object a caller gave: of a field that is there twice, only the last value would count.
struct GivenFields {
    private var places: UInt64 = 0

    /// Returns false for a field that is not known; throws where it was given before.
    ///
    /// - Parameters:
    ///   - known: 64 at most.
    ///   - prefix: the path of the object.
    mutating func note(
        _ field: String, among known: [String], under prefix: String = ""
    ) throws(InvalidInput) -> Bool {
        guard let place = known.firstIndex(of: field) else { return false }
        let bit: UInt64 = 1 << UInt64(place)
        guard places & bit == 0 else { throw InvalidInput(field: prefix + field, "is given twice") }
        places |= bit
        return true
    }
}
