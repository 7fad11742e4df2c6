/// Another mediator, which gets the messages for app ids that no application here has.
package protocol MediatorRelay: Sendable {
    /// - Parameter isForm: whether the body is a form; it is JSON otherwise.
    func relay(_ body: [UInt8], isForm: Bool) async throws -> RelayedAnswer
}

package enum RelayedAnswer: Sendable, Hashable {
    /// - code: of the body, or else the status.
    case answered(status: Int, code: Int, words: String)
    case unreachable
}
