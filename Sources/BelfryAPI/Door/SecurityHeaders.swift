import HTTPTypes
package import Hummingbird

/// Tells browsers and caches to keep their hands off the answers of an API.
///
/// Source: OWASP REST Security Cheat Sheet, "Security Headers".
package struct SecurityHeaders: RouterMiddleware {
    private let headers: HTTPFields

    /// - Parameter isSecure: whether the door speaks TLS. A browser that came so shall never come otherwise.
    package init(isSecure: Bool = false) {
        var headers: HTTPFields = [
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
            .xFrameOptions: "DENY",
            .referrerPolicy: "no-referrer",
        ]
        if isSecure { headers[.strictTransportSecurity] = "max-age=63072000" }
        self.headers = headers
    }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers.append(contentsOf: headers)
        return response
    }
}
