extension JSONWriter {
    /// An array that is not a member of an object.
    mutating func list<Element>(_ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
        enclosed("[", "]") { json in
            for element in elements { write(&json, element) }
        }
    }

    /// A string that is an element of an array.
    mutating func text(_ value: String) {
        comma()
        quoted(value)
        needsComma = true
    }
}
