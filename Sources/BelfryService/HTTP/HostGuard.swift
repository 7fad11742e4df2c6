import HTTPTypes
package import Hummingbird

/// Refuses requests to the dashboard and the admin API that name a host which is not this server's, where its public URL is set.
///
/// A name that an attacker's DNS leads here makes a browser take the server's pages for the attacker's own. The APIs of devices and
/// senders take any host: their clients come by every name that the server ever had, and no browser sends their credentials by itself.
package struct HostGuard: RouterMiddleware {
    private let address: ServerAddress
    private let limiter: RequestLimiter

    /// - Parameter limiter: knows the trusted proxies, which may rewrite the host and forward the original one.
    package init(_ address: ServerAddress, _ limiter: RequestLimiter) {
        (self.address, self.limiter) = (address, limiter)
    }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard Self.isGuarded(context.endpointPath ?? ""), !address.serves(request.head.authority, at: context.local),
            !(limiter.forwarded(.host, of: request, context).map { address.serves($0, at: context.local) } ?? false)
        else { return try await next(request, context) }
        throw APIError(.misdirectedRequest, address.refusal(of: request.head.authority ?? ""))
    }

    /// Whether a route is guarded. Takes the route that was found, so that no spelling of a path gets past.
    private static func isGuarded(_ route: String) -> Bool {
        let first = route.split(separator: "/", maxSplits: 1).first
        return first == "dashboard" || first == "admin"
    }
}
