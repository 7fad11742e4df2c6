/// A page of a longer list, and the length of the whole list.
package struct ListPage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// Over all pages, not this one alone.
    package let total: Int

    package init(_ elements: [Element], total: Int) {
        self.elements = elements
        self.total = total
    }
}

extension ListPage: Equatable where Element: Equatable {}
