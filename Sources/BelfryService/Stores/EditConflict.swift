/// The error for changing something that has changed since the caller saw it. Nothing was changed.
package struct EditConflict: Error, Sendable, Hashable {
    package init() {}
}

extension EditConflict {
    /// Throws unless the stored value is the one that the caller saw.
    package static func check<Value: Equatable>(_ stored: Value, is seen: Value) throws(EditConflict) {
        guard stored == seen else { throw EditConflict() }
    }
}
