/// A fault in what a caller sent: the field, and a sentence that names what was found and the limit.
package struct InvalidInput: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the field as the caller spells it, such as `target.topics[3]`.
    package let field: String
    package let problem: String

    package init(field: String, _ problem: String) {
        self.field = field
        self.problem = problem
    }

    /// The same fault, with the field names of another API.
    package func renamed(_ names: [String: String]) -> Self {
        names[field].map { Self(field: $0, problem) } ?? self
    }

    package var description: String { "\(field) \(problem)" }
}
