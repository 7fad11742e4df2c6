package import BelfryService
import HTTPTypes
package import Hummingbird

/// The routes that web pages call: `/web/v1/:registration_key`. The key is in every page, so it only lets browsers register, and
/// report what became of their pushes.
///
/// Each request is limited by its address before anything is looked up, and answered for the platform's own origins alone.
package struct WebRoutes: Sendable {
    private let middleware: WebMiddleware
    private let registrations: Web.Registrations
    private let events: Web.Events
    private let credentials: any ProviderCredentials
    private let store: any Store

    /// - Parameter requestLimiter: one for all APIs.
    package init(
        store: any Store, vault: any Vault, credentials: any ProviderCredentials, providers: any ProviderDirectory,
        clock: any WallClock, verifiesCustomUserIDs: Bool, eventsLateMax: Duration, requestLimiter: RequestLimiter,
        shares: ConcurrencyLimiter, address: ServerAddress = ServerAddress()
    ) {
        middleware = WebMiddleware(store: store, limiter: requestLimiter, address: address, clock: clock)
        registrations = Web.Registrations(
            store: store, secrets: SharedSecrets(vault: vault, clock: clock),
            proofs: Web.Proofs(vault: vault, providers: providers, clock: clock), shares: shares,
            verifiesCustomUserIDs: verifiesCustomUserIDs)
        events = Web.Events(store: store, lateMax: eventsLateMax)
        self.credentials = credentials
        self.store = store
    }

    package func add(to router: Router<APIContext>) {
        serve("web/v1/:registration_key", .get, on: router) { _, platform, access in
            try await publicPart(of: platform, access)
        }
        serve("web/v1/:registration_key/registrations", .post, on: router, registrations.register)
        serve("web/v1/:registration_key/registrations/end", .post, on: router) { request, platform, _ in
            try await registrations.end(request, on: platform)
        }
        serve("web/v1/:registration_key/events", .post, on: router) { request, platform, _ in
            try await events.record(request, on: platform)
        }
    }

    private func serve(
        _ path: RouterPath, _ method: HTTPRequest.Method, on router: Router<APIContext>,
        _ handler: @escaping @Sendable (Request, Platform, WebAccess) async throws -> Response
    ) {
        router.serve(
            path,
            [
                method: { [middleware] in try await middleware.answer($0, $1, handler) },
                .options: { [middleware] in try await middleware.preflight($0, $1, allows: method) },
            ])
    }

    /// Answers with what a page needs before it can subscribe.
    private func publicPart(of platform: Platform, _ access: WebAccess) async throws -> Response {
        guard let key = try await credentials.facts(of: platform, in: store).published["vapid_public_key"] else {
            throw APIError(.serviceUnavailable, "the platform has no VAPID key that can be used")
        }
        var json = JSONWriter()
        json.object { json in
            json.string("vapid_public_key", key)
            json.bool("proof", access.provesRegistrations)
        }
        // A page that has an old key cannot subscribe, so caches must revalidate.
        return Response(status: .ok, json: json.buffer, headers: [.cacheControl: "no-cache"])
    }
}

/// The API of web pages.
enum Web {
    /// A registration with 64 topics fits many times.
    static let bodyBytesMax = 16 << 10
}
