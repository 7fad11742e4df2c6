/// A slice of a longer list, and how long the whole list is.
package struct Listing<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// Over all pages, not this slice alone.
    package let total: Int

    package init(_ elements: [Element], total: Int) {
        self.elements = elements
        self.total = total
    }
}

extension Listing: Equatable where Element: Equatable {}
