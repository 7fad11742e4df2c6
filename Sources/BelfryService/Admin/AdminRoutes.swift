import HTTPTypes
package import Hummingbird

/// The routes of the admin API.
package struct AdminRoutes: Sendable {
    private let factory: Admin.RouteFactory
    private let authenticator: Admin.KeyAuthenticator
    private let idempotency: IdempotencyMiddleware
    private let events: EventHub?
    private let server: (any ServerInspector)?
    private let bodyBytesMax: Int

    /// - Parameters:
    ///   - events: nil leaves the event stream out.
    ///   - server: nil leaves out the endpoints about the server itself.
    ///   - idempotencyHold: longer than any request may take.
    ///   - verdictDeadline: how long a test push may wait for its provider, less than any request may take.
    package init(
        _ services: Services, events: EventHub? = nil, server: (any ServerInspector)? = nil,
        bodyBytesMax: Int = 1_048_576, idempotencyHold: Duration = .seconds(35),
        verdictDeadline: Duration = .seconds(20)
    ) {
        factory = Admin.RouteFactory(services, verdictDeadline: verdictDeadline)
        authenticator = Admin.KeyAuthenticator(
            store: services.store, requestLimiter: services.requestLimiter, clock: services.clock, realm: "Belfry")
        idempotency = IdempotencyMiddleware(
            store: services.store, vault: services.vault, bodyBytesMax: bodyBytesMax, hold: idempotencyHold)
        self.events = events
        self.server = server
        self.bodyBytesMax = bodyBytesMax
    }

    package func add(to router: Router<APIContext>) {
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            router.serve(
                RouterPath("\(Admin.root)/\(path)"),
                Dictionary(uniqueKeysWithValues: routes.map { ($0.method, handler($0)) }))
        }
    }

    /// All routes, to be added to a router, described or tried.
    var routes: [Admin.Route] {
        factory.routes + (events.map { Admin.Events(factory: factory, hub: $0).routes } ?? [])
            + (server.map { Admin.Server(factory: factory, inspector: $0).routes } ?? [])
    }

    private func handler(_ route: Admin.Route) -> Router<APIContext>.Handler {
        { [authenticator, services = factory.services, idempotency, bodyBytesMax] request, context in
            let key = try await authenticator.key(of: request, context)
            try route.checkParameters(of: request)
            let address = services.requestLimiter.address(of: request, context)?.text
            let answer = { (request: Request) in
                try await route.answer(
                    Admin.Call(
                        request: request, parameters: context.parameters, key: key,
                        author: AuditAuthor(key, address: address), bodyBytesMax: bodyBytesMax, logger: context.logger))
            }
            if route.isStreaming { return try await answer(request) }
            return try await services.shares.uploading(request, atMost: bodyBytesMax, for: ShareHolder(key)) {
                guard request.method == .post else { return try await answer(request) }
                return try await idempotency.run(
                    request, context, by: Principal(key), isRepeatable: route.isRepeatable, answer)
            }
        }
    }
}

extension Principal {
    fileprivate init(_ key: AdminKey) { self.init(.admin, key.key.rawValue) }
}
