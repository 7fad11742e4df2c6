package import BelfryService
import HTTPTypes
package import Hummingbird

/// The routes of the admin API.
package struct AdminRoutes: Sendable {
    private let factory: Admin.RouteFactory
    private let authenticator: Admin.KeyAuthenticator
    private let requestLimiter: RequestLimiter
    private let idempotency: IdempotencyMiddleware
    private let events: EventHub?
    private let server: (any ServerInspector)?
    private let shares: ConcurrencyLimiter
    private let bodyBytesMax: Int

    /// - Parameters:
    ///   - requestLimiter: one for all APIs; nil limits only failed logins.
    ///   - shares: one for all APIs.
    ///   - events: nil leaves the event stream out.
    ///   - server: nil leaves out the endpoints about the server itself.
    ///   - idempotencyHold: longer than any request may take.
    ///   - verdictDeadline: how long a test push may wait for its provider, less than any request may take.
    package init(
        store: any Store, vault: any Vault, clock: any WallClock, credentials: any ProviderCredentials,
        passwords: any PasswordHashing = NoPasswords(), requestLimiter: RequestLimiter? = nil,
        shares: ConcurrencyLimiter, events: EventHub? = nil, server: (any ServerInspector)? = nil,
        bodyBytesMax: Int = 1_048_576, idempotencyHold: Duration = .seconds(35),
        verdictDeadline: Duration = .seconds(20)
    ) {
        factory = Admin.RouteFactory(
            store: store,
            admin: AdminService(
                store: store, vault: vault, credentials: credentials, hash: SecretHash.of,
                passwords: passwords, clock: clock),
            channels: ChannelService(store: store, provider: credentials.channels), clock: clock,
            pushObserver: events ?? NoPushObserver(), shares: shares, verdictDeadline: verdictDeadline)
        self.shares = shares
        self.requestLimiter = requestLimiter ?? RequestLimiter(clock: clock)
        authenticator = Admin.KeyAuthenticator(
            store: store, requestLimiter: self.requestLimiter, clock: clock, realm: "Belfry")
        idempotency = IdempotencyMiddleware(
            store: store, vault: vault, bodyBytesMax: bodyBytesMax, hold: idempotencyHold)
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
        { [authenticator, requestLimiter, shares, idempotency, bodyBytesMax] request, context in
            let key = try await authenticator.key(of: request, context)
            try route.checkParameters(of: request)
            let address = requestLimiter.address(of: request, context)?.text
            let answer = { (request: Request) in
                try await route.answer(
                    Admin.Call(
                        request: request, parameters: context.parameters, key: key,
                        author: AuditAuthor(key, address: address), bodyBytesMax: bodyBytesMax, logger: context.logger))
            }
            if route.isStreaming { return try await answer(request) }
            return try await shares.uploading(request, atMost: bodyBytesMax, for: ShareHolder(key)) {
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

extension Admin.RouteFactory {
    /// The routes of all resources except the event stream.
    var routes: [Admin.Route] {
        Admin.Tenants(factory: self).routes + Admin.Keys(factory: self).routes + Admin.People(factory: self).routes
            + Admin.Apps(factory: self).routes
            + Admin.Platforms(factory: self).routes + Admin.Channels(factory: self).routes
            + Admin.Devices(factory: self).routes
            + Admin.Pushes(factory: self).routes
            + Admin.Topics(factory: self).routes + Admin.Schedules(factory: self).routes
            + Admin.Locations(factory: self).routes + Admin.LocationGroups(factory: self).routes
            + Admin.Geofences(factory: self).routes + Admin.Analytics(factory: self).routes
            + Admin.AuditLog(factory: self).routes + Admin.Nodes(factory: self).routes
            + Admin.Quotas(factory: self).routes + Admin.Imports(factory: self).routes
            + Admin.Users(factory: self).routes + Admin.OpenEndpoints(factory: self).routes
            + Admin.GatewayCredentials(factory: self).routes + Admin.AcrobitsPhones(factory: self).routes
            + Admin.CarmaCustomers(factory: self).routes + Admin.GeneroTokens(factory: self).routes
    }
}
