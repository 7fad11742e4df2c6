/// What came of one request. An answer is a value; there is no other way to learn of trouble.
public enum HTTPAnswer: Sendable {
    case response(HTTPReply)
    /// Nothing was sent: there was no connection. Safe to send again.
    case unprocessed(HTTPFault)
    /// It was sent, or may have been, and no answer came.
    case unknown(HTTPFault)
    /// TLS failed for the sake of the certificates, ours or theirs. Nothing was sent; a person must act.
    case credentialsRefused(HTTPFault)
}

/// A server's answer, its body up to the limit of the poster.
public struct HTTPReply: Sendable {
    public let status: Int
    public let body: [UInt8]
    /// What `Retry-After` asks for.
    public let retryAfter: Duration?
    /// By their names in lower case, those the poster was told to keep.
    public let headers: [String: String]

    public init(status: Int, body: [UInt8], retryAfter: Duration? = nil, headers: [String: String] = [:]) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.headers = headers
    }
}

/// Why there is no answer.
public struct HTTPFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// For people.
    public let reason: String

    public var description: String { reason }

    public init(_ reason: String) { self.reason = reason }
}
