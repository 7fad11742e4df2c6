import HTTPTypes
package import Hummingbird

/// Tells browsers and caches to keep their hands off the answers of an API.
package struct SecurityHeaders: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        return response
    }
}
