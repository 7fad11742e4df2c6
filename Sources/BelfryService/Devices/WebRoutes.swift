import Crypto
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import KeyFiles

/// The routes that web pages call: `/web/v1/:registration_key`. The key is in every page, so it only lets browsers register, and
/// report what became of their pushes.
///
/// Each request is limited by its address before anything is looked up, and answered for the platform's own origins alone.
package struct WebRoutes: Sendable {
    private let middleware: WebMiddleware
    private let registrations: Web.Registrations
    private let events: Web.Events
    private let endpoints: Web.Endpoints
    private let credentials: any ProviderCredentials
    private let store: any Store

    package init(
        _ services: Services, providers: any ProviderDirectory, verifiesCustomUserIDs: Bool, eventsLateMax: Duration,
        address: ServerAddress = ServerAddress()
    ) {
        let (store, vault, clock) = (services.store, services.vault, services.clock)
        middleware = WebMiddleware(store: store, limiter: services.requestLimiter, address: address, clock: clock)
        registrations = Web.Registrations(
            services, secrets: SharedSecrets(vault: vault, clock: clock),
            proofs: Web.Proofs(vault: vault, providers: providers, clock: clock),
            verifiesCustomUserIDs: verifiesCustomUserIDs)
        events = Web.Events(store: store, lateMax: eventsLateMax)
        endpoints = Web.Endpoints(services: services)
        credentials = services.credentials
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
        serve("web/v1/:registration_key/endpoints", .post, on: router, endpoints.create)
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
        // A page that has an old key cannot subscribe, so caches must revalidate.
        return .object(headers: [.cacheControl: "no-cache"]) { json in
            json.string("vapid_public_key", key)
            json.bool("proof", access.provesRegistrations)
        }
    }
}

/// The API of web pages.
enum Web {
    /// A registration with 64 topics fits many times.
    static let bodyBytesMax = 16 << 10

    /// Proves that a browser exists before it is registered: a code is pushed to it, which it has to send back.
    ///
    /// The server keeps nothing meanwhile: the code is a seal over the subscription and the time until which it counts.
    struct Proofs: Sendable {
        let vault: any Vault
        let providers: any ProviderDirectory
        let clock: any WallClock

        /// A browser that is slow to connect to its push service still makes it.
        static let validFor = Duration.seconds(600)

        /// Whether the code was made for this subscription, on this platform, not long ago.
        func isProven(_ token: DeviceToken, by code: String, on platform: Platform) -> Bool {
            guard let sealed = Base64.decode(code.utf8, of: .url),
                let opened = try? vault.open(
                    Sealed(bytes: sealed), for: VaultPurpose.proof(on: platform.uuid)), opened.count == 40
            else { return false }
            let until = opened[..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return clock.now.milliseconds <= until && Array(opened[8...]) == Self.digest(of: token)
        }

        /// Pushes a code to a browser, and returns what its push service answered.
        func send(to token: DeviceToken, on platform: Platform) async throws -> Outcome {
            let provider = try await providers.provider(for: platform)
            let now = clock.now
            let content = Push.Content(
                body: nil, custom: ["web": .object(["proof": .string(try code(for: token, on: platform))])])
            let push = Push(
                key: Key(0), receiptID: UUID(), applicationKey: platform.applicationKey, content: content,
                audience: .any([]), lane: .urgent, guarantee: .atMostOnce, acceptedAt: now,
                expiresAt: now + Self.validFor)
            return await provider.send(push, to: [Recipient(device: Key(0), token: token)])[0]
        }

        private func code(for token: DeviceToken, on platform: Platform) throws -> String {
            let until = (clock.now + Self.validFor).milliseconds
            let content = withUnsafeBytes(of: until.bigEndian) { Array($0) } + Self.digest(of: token)
            return Base64.encode(try vault.seal(content, for: VaultPurpose.proof(on: platform.uuid)).bytes)
        }

        private static func digest(of token: DeviceToken) -> [UInt8] { Array(SHA256.hash(data: token.bytes)) }
    }
}

extension Outcome {
    /// Why a push service did not take the push that proves a registration; nil where it did.
    var proofFault: APIError? {
        switch self {
        case .accepted, .moved: nil
        case .gone: APIError(.unprocessableContent, "The subscription has ended: its push service knows it no more")
        case .refused(let refusal, _):
            APIError(.unprocessableContent, "The subscription cannot be used: its push service answered \(refusal)")
        case .throttled, .failed, .unreachable, .unanswered, .credentialsRefused, .held, .waiting, .skipped:
            APIError(
                .serviceUnavailable, "The push service of the subscription cannot be reached now",
                headers: [.retryAfter: "30"])
        }
    }
}
