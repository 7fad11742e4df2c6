/// A login by an issuer that failed, in words for the person and the log. Never holds values that were sent.
package struct SignOnFault: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
