package import BelfryCore
import HTTPTypes
package import Hummingbird

/// Every path of the admin API, and who answers it.
package struct AdminRoutes: Sendable {
    private let desk: Admin.Desk
    private let authenticator: Admin.KeyAuthenticator
    private let bodyBytesMax: Int

    package init(
        store: any Store, vault: any Vault, clock: any WallClock, credentials: any ProviderCredentials,
        bodyBytesMax: Int = 1_048_576
    ) {
        desk = Admin.Desk(
            store: store, office: Office(store: store, vault: vault, credentials: credentials), clock: clock)
        authenticator = Admin.KeyAuthenticator(store: store, clock: clock, realm: "Belfry")
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
            + Admin.Platforms(desk: desk).routes + Admin.Devices(desk: desk).routes + Admin.Pushes(desk: desk).routes
            + Admin.Topics(desk: desk).routes + Admin.AuditLog(desk: desk).routes
    }

    private func handler(_ route: Admin.Route) -> Router<APIContext>.Handler {
        { [authenticator, bodyBytesMax] request, context in
            let key = try await authenticator.key(of: request, logger: context.logger)
            return try await route.answer(
                Admin.Call(
                    request: request, parameters: context.parameters, key: key,
                    address: context.peer?.ipAddress, bodyBytesMax: bodyBytesMax))
        }
    }
}
