/// A page of a longer list, and the length of the whole list.
package struct ListPage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// Over all pages, not this one alone.
    package let total: Int
    /// Whether time ran out before all were looked at: the total is of those that were.
    package let isPartial: Bool

    package init(_ elements: [Element], total: Int, isPartial: Bool = false) {
        self.elements = elements
        self.total = total
        self.isPartial = isPartial
    }
}

extension ListPage: Equatable where Element: Equatable {}
