package import HTTPTypes
package import Hummingbird

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
