package import HTTPTypes

/// An error response: a status, and a message that names what was found and what was expected.
package struct APIError: Error, Sendable {
    package let status: HTTPResponse.Status
    package let message: String
    package let headers: HTTPFields

    package init(_ status: HTTPResponse.Status, _ message: String, headers: HTTPFields = [:]) {
        self.status = status
        self.message = message
        self.headers = headers
    }
}

extension APIError {
    /// Whether there is nothing at the path.
    package var isMissing: Bool { status == .notFound }
}

extension APIError: CustomStringConvertible {
    package var description: String { message }
}

/// The client disconnected or broke the protocol in the middle of its body, so that there is no client to answer.
package struct BodyUnreadable: Error {
    package let cause: any Error
}
