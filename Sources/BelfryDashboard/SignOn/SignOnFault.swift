/// Why a login by an issuer did not work, in words for the person and the log. Never holds what was sent.
package struct SignOnFault: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
