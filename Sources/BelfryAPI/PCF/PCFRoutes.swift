package import BelfryCore
import FoundationEssentials
import HTTPTypes
package import Hummingbird

/// Every path of the PCF API, and who answers it.
///
/// Paths with a doubled or a trailing slash match too: the router drops empty parts. See `HabitsTests`.
package struct PCFRoutes: Sendable {
    let authenticator: Authenticator
    private let registrations: PCFv1.Registrations
    private let pushes: PCFv1.Pushes
    let schedules: PCFv1.Schedules
    private let health: @Sendable () async -> PCFv1.Health

    /// - Parameter health: asked for each `/healthcheck`; it has to answer in time by itself.
    package init(
        store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore, vault: any Vault, clock: any WallClock,
        options: PCFv1.Options = PCFv1.Options(), health: @escaping @Sendable () async -> PCFv1.Health
    ) {
        authenticator = Authenticator(store: store, realm: options.realm)
        registrations = PCFv1.Registrations(store: store, secrets: SharedSecrets(vault: vault), options: options)
        let desk = PushDesk(store: store)
        pushes = PCFv1.Pushes(desk: desk, clock: clock, options: options)
        schedules = PCFv1.Schedules(store: store, desk: desk, clock: clock, options: options)
        self.health = health
    }

    package func add(to router: Router<APIContext>) {
        serve(
            "v1/registration", on: router,
            [
                .post: asPlatform { request, _, platform in try await registrations.create(request, on: platform) }
            ])
        serve(
            "v1/registration/count", on: router,
            [
                .get: asPlatform { _, _, platform in try await registrations.count(on: platform) }
            ])
        serve(
            "v1/registration/:device_uuid", on: router,
            [
                .get: asPlatform { _, uuid, platform in try await registrations.show(uuid, on: platform) },
                .put: asPlatform { request, uuid, platform in
                    try await registrations.update(uuid, request, on: platform)
                },
                .delete: asPlatform { _, uuid, platform in try await registrations.delete(uuid, on: platform) },
            ])
        serve(
            "v1/push", on: router,
            [
                .post: asApplication { request, application in try await pushes.create(request, for: application) }
            ])
        addSchedules(to: router)
        serve("v1/version", on: router, [.get: { _, _ in PCFv1.versionReply() }])
        serve("healthcheck", on: router, [.get: { _, _ in await health().response() }])
    }

    private typealias Handler = Router<APIContext>.Handler

    private func serve(_ path: RouterPath, on router: Router<APIContext>, _ handlers: [HTTPRequest.Method: Handler]) {
        router.serve(path, handlers)
    }

    /// - Parameter handler: gets the device UUID in the path too; nil when there is none, or it is no UUID.
    private func asPlatform(
        _ handler: @escaping @Sendable (Request, UUID?, Platform) async throws -> Response
    ) -> Handler {
        { [authenticator] request, context in
            let platform = try await authenticator.platform(of: request)
            let uuid = context.parameters.get("device_uuid").flatMap { UUID(uuidString: $0) }
            return try await handler(request, uuid, platform)
        }
    }

    private func asApplication(
        _ handler: @escaping @Sendable (Request, Application) async throws -> Response
    ) -> Handler {
        { [authenticator] request, _ in
            try await handler(request, try await authenticator.application(of: request))
        }
    }
}
