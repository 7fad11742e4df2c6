package import BelfryCore
import HTTPTypes
package import Hummingbird

/// Every path of the admin API, and who answers it.
package struct AdminRoutes: Sendable {
    private let desk: Admin.Desk
    private let authenticator: Admin.KeyAuthenticator
    private let gatekeeper: Gatekeeper
    private let once: Once
    private let events: EventHub?
    private let shares: ShareLimiter
    private let bodyBytesMax: Int

    /// - Parameters:
    ///   - gatekeeper: one for all doors; nil limits nobody but guessers.
    ///   - shares: one for all doors.
    ///   - events: nil leaves the event stream out.
    ///   - idempotencyHold: longer than any request may take.
    package init(
        store: any Store, vault: any Vault, clock: any WallClock, credentials: any ProviderCredentials,
        gatekeeper: Gatekeeper? = nil, shares: ShareLimiter = ShareLimiter(), events: EventHub? = nil,
        bodyBytesMax: Int = 1_048_576, idempotencyHold: Duration = .seconds(35)
    ) {
        desk = Admin.Desk(
            store: store, vault: vault, credentials: credentials, clock: clock, witness: events ?? NoWitness(),
            shares: shares)
        self.shares = shares
        self.gatekeeper = gatekeeper ?? Gatekeeper(clock: clock)
        authenticator = Admin.KeyAuthenticator(
            store: store, gatekeeper: self.gatekeeper, clock: clock, realm: "Belfry")
        once = Once(store: store, vault: vault, bodyBytesMax: bodyBytesMax, hold: idempotencyHold)
        self.events = events
        self.bodyBytesMax = bodyBytesMax
    }

    package func add(to router: Router<APIContext>) {
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            router.serve(
                RouterPath("\(Admin.root)/\(path)"),
                Dictionary(uniqueKeysWithValues: routes.map { ($0.method, handler($0)) }))
        }
    }

    /// All of them, for whoever adds them to a router, describes them or tries them.
    var routes: [Admin.Route] {
        Admin.Tenants(desk: desk).routes + Admin.Keys(desk: desk).routes + Admin.Apps(desk: desk).routes
            + Admin.Platforms(desk: desk).routes + Admin.Channels(desk: desk).routes + Admin.Devices(desk: desk).routes
            + Admin.Pushes(desk: desk).routes
            + Admin.Topics(desk: desk).routes + Admin.Schedules(desk: desk).routes
            + Admin.Locations(desk: desk).routes + Admin.LocationGroups(desk: desk).routes
            + Admin.Geofences(desk: desk).routes + Admin.Analytics(desk: desk).routes
            + Admin.AuditLog(desk: desk).routes + Admin.Nodes(desk: desk).routes
            + Admin.Quotas(desk: desk).routes
            + (events.map { Admin.Events(desk: desk, hub: $0).routes } ?? [])
    }

    private func handler(_ route: Admin.Route) -> Router<APIContext>.Handler {
        { [authenticator, gatekeeper, shares, once, bodyBytesMax] request, context in
            let key = try await authenticator.key(of: request, context)
            let address = gatekeeper.address(of: request, context)?.text
            let answer = { (request: Request) in
                try await route.answer(
                    Admin.Call(
                        request: request, parameters: context.parameters, key: key, address: address,
                        bodyBytesMax: bodyBytesMax, logger: context.logger))
            }
            return try await shares.uploading(request, atMost: bodyBytesMax, for: ShareHolder(key)) {
                guard request.method == .post else { return try await answer(request) }
                return try await once.run(
                    request, context, by: Principal(key), isRepeatable: route.isRepeatable, answer)
            }
        }
    }
}

extension Principal {
    fileprivate init(_ key: AdminKey) { self.init(.admin, key.key.rawValue) }
}
