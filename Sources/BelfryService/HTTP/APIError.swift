import CContract
import Crypto
package import HTTPTypes
package import Hummingbird
import NIOCore

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

extension Router<APIContext> {
    package typealias Handler = @Sendable (Request, APIContext) async throws -> Response

    /// Adds a path with its methods, HEAD where there is GET, and a 405 for the others.
    ///
    /// - Parameter isSafe: false where GET has an effect: HEAD, which programs send to try a link, then gets an empty 200.
    package func serve(_ path: RouterPath, isSafe: Bool = true, _ handlers: [HTTPRequest.Method: Handler]) {
        var handlers = handlers
        if let get = handlers[.get] {
            handlers[.head] = { request, context in
                isSafe ? try await get(request, context).createHeadResponse() : Response(status: .ok)
            }
        }
        let allowed = handlers.keys.map(\.rawValue).sorted().joined(separator: ", ")
        for method in Self.methods { on(path, method: method, use: handlers[method] ?? Self.refusal(allowed: allowed)) }
    }

    /// Serves a path whose GET and HEAD another part serves, for people.
    func serveBesideGet(_ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler]) {
        let allowed = handlers.keys.map(\.rawValue).sorted().joined(separator: ", ")
        for method in Self.methods where method != .get && method != .head {
            on(path, method: method, use: handlers[method] ?? Self.refusal(allowed: allowed))
        }
    }

    private static var methods: [HTTPRequest.Method] {
        [.get, .head, .post, .put, .delete, .patch, .options, .trace, .connect, HTTPRequest.Method("QUERY")]
            .compactMap(\.self)
    }

    private static func refusal(allowed: String) -> Handler {
        { request, _ in
            throw APIError(
                .methodNotAllowed, "This path takes \(allowed), not \(request.method)", headers: [.allow: allowed])
        }
    }
}

extension APIError {
    /// The error for the caller. It reveals only what the caller can act on.
    package init(cause: any Error) {
        switch cause {
        case let error as APIError: self = error
        case let error as InvalidInput: self.init(.badRequest, error.description)
        case let error as StoreError: self.init(error)
        case let error as ShareExceeded: self = .excess(error.excess, of: error.share, error.limit)
        case is EditConflict:
            self.init(.preconditionFailed, "It was changed since you read it; reload it and retry")
        case let error as BroadcastChannelError: self.init(error)
        case let error as any HTTPResponseError: self.init(error.status, error.status.reasonPhrase)
        default: self.init(.internalServerError, "The server failed; its log says why")
        }
    }

    /// A refusal by the provider, which the caller can correct.
    private init(_ error: BroadcastChannelError) {
        switch error {
        case .unsupported(let words), .refused(let words): self.init(.conflict, words)
        case .unknown: self.init(.notFound, "There is no such channel")
        case .unavailable(let words): self.init(.serviceUnavailable, words, headers: [.retryAfter: "30"])
        }
    }

    /// A retry helps only where the use of the quota decreases by itself.
    private init(_ excess: QuotaExcess) {
        guard let retryAfter = excess.quota.retryAfter else {
            self.init(.conflict, excess.description)
            return
        }
        self.init(
            .tooManyRequests, excess.description, headers: [.retryAfter: String(retryAfter.components.seconds)])
    }

    private init(_ error: StoreError) {
        switch error {
        case .unknown(let what): self.init(.notFound, "There is no \(what)")
        case .taken: self.init(.conflict, "That UUID is taken; give another, or none")
        case .conflict(let what): self.init(.conflict, what)
        case .unavailable:
            self.init(.serviceUnavailable, "The database cannot be used at present", headers: [.retryAfter: "5"])
        case .damaged:
            self.init(
                .internalServerError, "Its stored row cannot be read; the server's log says which row and why")
        case .overloaded(let retryAfter):
            let seconds = max(1, (retryAfter.milliseconds + 999) / 1_000)
            self.init(
                .serviceUnavailable, "More work waits than the server takes; try again in \(seconds) s",
                headers: [.retryAfter: String(seconds)])
        case .quotaExceeded(let excess): self.init(excess)
        }
    }
}
