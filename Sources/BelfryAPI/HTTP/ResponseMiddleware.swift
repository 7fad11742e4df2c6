package import BelfryService
package import Hummingbird

/// Common to every request of every API: names its trace, turns errors into responses, sets the common headers and
/// counts the response.
package struct ResponseMiddleware: RouterMiddleware {
    private let errorResponses: ErrorResponses
    private let headers: SecurityHeaders
    private let meter = RequestMeter()

    /// A router with this middleware in place. Routes are added after it.
    ///
    /// - Parameter isSecure: whether the listener speaks TLS.
    package static func router(clock: any WallClock, isSecure: Bool = false) -> Router<APIContext> {
        Router(context: APIContext.self)
            .add(
                middleware: Self(
                    errorResponses: ErrorResponses(clock: clock), headers: SecurityHeaders(isSecure: isSecure)))
    }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        var context = context
        if let caller = TraceParent(of: request) { context.logger.name(caller) }
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = try errorResponses.response(for: error, request, context)
        }
        headers.add(to: &response)
        meter.note(request, context, response, since: start)
        return response
    }
}
