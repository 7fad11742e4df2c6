import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Logging

/// The routes of the PCF API.
///
/// Paths with a doubled or a trailing slash match too: the router drops empty parts. See `HabitsTests`.
package struct PCFRoutes: Sendable {
    let authenticator: Authenticator
    let services: Services
    let options: PCF.Options
    var store: any Store { services.store }
    var clock: any WallClock { services.clock }
    var shares: ConcurrencyLimiter { services.shares }
    private let idempotency: IdempotencyMiddleware
    private let registrations: PCF.Registrations
    private let messages: PCF.DeviceMessages
    private let pushes: PCF.Pushes
    let schedules: PCF.Schedules
    private let health: @Sendable () async -> PCF.Health

    /// - Parameters:
    ///   - health: called for each `/healthcheck`; it has to answer in time by itself.
    package init(
        _ services: Services, options: PCF.Options = PCF.Options(),
        health: @escaping @Sendable () async -> PCF.Health
    ) {
        Metric.declare()
        self.services = services
        self.options = options
        let (store, clock) = (services.store, services.clock)
        authenticator = Authenticator(
            store: store, requestLimiter: services.requestLimiter, clock: clock,
            realm: options.realm)
        idempotency = IdempotencyMiddleware(
            store: store, vault: services.vault, bodyBytesMax: options.bodyBytesMax, hold: options.idempotencyHold)
        let secrets = SharedSecrets(vault: services.vault, clock: clock)
        registrations = PCF.Registrations(services, secrets: secrets, options: options)
        messages = PCF.DeviceMessages(
            store: store,
            service: DeviceMessageService(
                store: store, clock: clock, linkKeys: SharedSecretLinkKeys(store: store, secrets: secrets)))
        pushes = PCF.Pushes(pushService: services.pushes, clock: clock, options: options)
        schedules = PCF.Schedules(
            store: store, pushService: services.pushes, clock: clock, options: options)
        self.health = health
    }

    package func add(to router: Router<APIContext>) {
        serve(
            "v1/registration", on: router,
            [
                .post: asPlatform { request, _, platform, logger in
                    try await registrations.create(request, on: platform, logger)
                }
            ])
        serve(
            "v1/registration/count", on: router,
            [
                .get: asPlatform { [shares, store] _, _, platform, _ in
                    try await shares.holding(.searches, for: try await .of(platform, in: store)) {
                        try await registrations.count(on: platform)
                    }
                }
            ])
        serve(
            "v1/registration/:device_uuid", on: router,
            [
                .get: asPlatform { _, uuid, platform, _ in try await registrations.show(uuid, on: platform) },
                .put: asPlatform { request, uuid, platform, logger in
                    try await registrations.update(uuid, request, on: platform, logger)
                },
                .delete: asPlatform { _, uuid, platform, _ in try await registrations.delete(uuid, on: platform) },
            ])
        serve(
            "v1/registration/:device_uuid/messages", on: router,
            [
                .get: asPlatform { [shares, store] request, uuid, platform, _ in
                    try await shares.holding(.searches, for: try await .of(platform, in: store)) {
                        try await messages.list(uuid, request, on: platform)
                    }
                }
            ])
        serve(
            "v1/push", on: router,
            [
                .post: asApplication(isRepeatable: true) { request, application, context in
                    try await pushes.create(request, for: application, context.logger)
                }
            ])
        addSchedules(to: router)
        addDirectory(to: router)
        addMap(to: router)
        serve("v1/version", on: router, [.get: { _, _ in PCF.versionReply() }])
        serve("healthcheck", on: router, [.get: { _, _ in await health().response() }])
    }

    typealias Handler = Router<APIContext>.Handler

    func serve(_ path: RouterPath, on router: Router<APIContext>, _ handlers: [HTTPRequest.Method: Handler]) {
        router.serve(path, handlers)
    }

    /// - Parameters:
    ///   - bytesMax: the longest body; nil for that of the options.
    ///   - handler: also gets the device UUID in the path; nil when there is none, or it is malformed.
    func asPlatform(
        atMost bytesMax: Int? = nil,
        _ handler: @escaping @Sendable (Request, UUID?, Platform, Logger) async throws -> Response
    ) -> Handler {
        { [authenticator, shares, options, store] request, context in
            let platform = try await authenticator.platform(of: request, context)
            let uuid = context.parameters.get("device_uuid").flatMap { UUID(text: $0) }
            return try await shares.receiving(
                request, atMost: bytesMax ?? options.bodyBytesMax, for: try await .of(platform, in: store)
            ) { try await handler($0, uuid, platform, context.logger) }
        }
    }

    /// - Parameter isRepeatable: see `IdempotencyMiddleware.run`; it matters for POST alone.
    func asApplication(
        isRepeatable: Bool = false, _ handler: @escaping @Sendable (Request, Application) async throws -> Response
    ) -> Handler {
        asApplication(isRepeatable: isRepeatable) { request, application, _ in try await handler(request, application) }
    }

    func asApplication(
        isRepeatable: Bool = false,
        _ handler: @escaping @Sendable (Request, Application, APIContext) async throws -> Response
    ) -> Handler {
        { [authenticator, idempotency, shares, options] request, context in
            let application = try await authenticator.application(of: request, context)
            let holder = ShareHolder(application)
            return try await shares.receiving(request, atMost: options.bodyBytesMax, for: holder) { request in
                guard request.method == .post else { return try await handler(request, application, context) }
                return try await idempotency.run(
                    request, context, by: Principal(application), isRepeatable: isRepeatable
                ) {
                    try await handler($0, application, context)
                }
            }
        }
    }

    /// A handler that uses a share while it runs, once the whole body is there.
    func asApplication(
        using share: Share, _ handler: @escaping @Sendable (Request, Application) async throws -> Response
    ) -> Handler {
        asApplication { [shares, options] request, application in
            let whole = try await request.whole(atMost: options.bodyBytesMax)
            return try await shares.holding(share, for: ShareHolder(application)) {
                try await handler(whole, application)
            }
        }
    }

    /// A handler that writes its response while it reads a whole list.
    func asApplicationExporting(
        _ handler: @escaping @Sendable (Request, Application) async throws -> Response
    ) -> Handler {
        asApplication { [shares] request, application in
            try await shares.streaming(.exports, for: ShareHolder(application)) {
                try await handler(request, application)
            }
        }
    }
}
