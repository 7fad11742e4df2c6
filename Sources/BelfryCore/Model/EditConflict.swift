/// Somebody else has changed what a caller saw before they changed it too: nothing was changed.
package struct EditConflict: Error, Sendable, Hashable {
    package init() {}
}

extension EditConflict {
    /// Throws unless what is stored is what the caller saw.
    package static func check<Value: Equatable>(_ stored: Value, is seen: Value) throws(EditConflict) {
        guard stored == seen else { throw EditConflict() }
    }
}
