import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Synchronization

/// The push service for application servers that speak Web Push, at `/wp/<capability>`, and the paths by which registered devices get
/// their endpoints and fetch what waits there.
///
/// Source: RFC 8030, RFC 8292; UnifiedPush, "Server Interface" and "Discovery".
package struct WebPushRoutes: Sendable {
    private let services: Services
    private let address: ServerAddress
    private let authenticator: Authenticator
    private let rates = EndpointRates()
    private let verifier = VAPIDVerifier()
    /// Requests that wait are answered before their connections are closed.
    private let waitMax: Duration

    private var store: any Store { services.store }

    /// - Parameters:
    ///   - address: how application servers reach this server.
    ///   - timeout: of a request, after which its connection is closed.
    package init(
        _ services: Services, address: ServerAddress = ServerAddress(), requestTimeout timeout: Duration = .seconds(60)
    ) {
        self.services = services
        self.address = address
        waitMax = Self.waitMax(within: timeout)
        authenticator = Authenticator(
            store: services.store, requestLimiter: services.requestLimiter, clock: services.clock, realm: "Belfry")
    }

    package func add(to router: Router<APIContext>) {
        router.serve("wp/:capability", [.get: discover, .post: push])
        router.serve("wp/:capability/:message_id", [.get: show, .delete: retract])
        let endpoints = "v1/registration/:device_uuid/endpoints"
        router.serve(RouterPath(endpoints), [.get: asDevice(list), .post: asDevice(create)])
        router.serve(RouterPath("\(endpoints)/:endpoint_id"), [.delete: asDevice(delete)])
        router.serve(RouterPath("\(endpoints)/:endpoint_id/messages"), [.get: asDevice(fetch)])
        router.serve(RouterPath("\(endpoints)/:endpoint_id/messages/:message_id"), [.delete: asDevice(acknowledge)])
    }

    /// The address of this server, as its callers know it.
    private func url(_ request: Request, _ context: APIContext) -> String {
        let cameByTLS = services.requestLimiter.forwarded(.scheme, of: request, context) == "https"
        return address.url(request, context, cameByTLS: cameByTLS)
    }

    // MARK: Application servers

    @Sendable private func discover(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try await endpoint(request, context)
        return .object { json in json.object("unifiedpush") { json in json.integer("version", 1) } }
    }

    /// Source: RFC 8030 §5.
    @Sendable private func push(_ request: Request, _ context: APIContext) async throws -> Response {
        let found = try await endpoint(request, context)
        do {
            let message = try await message(request, context, for: found)
            let id = try await services.webPushEndpoints.accept(message, at: found.endpoint, on: found.platform)
            let url = "\(url(request, context))\(WebPushEndpoint.path(context.capability))/\(id.lowercased)"
            return Response(status: .created, headers: [.location: url, .ttl: String(message.timeToLive)])
        } catch let fault as InvalidInput where fault.isTooLarge {
            throw APIError(
                .contentTooLarge,
                "The device's provider takes no message of this size, which Base64 makes a third longer: \(fault)")
        }
    }

    private func message(
        _ request: Request, _ context: APIContext, for found: Found
    ) async throws -> EndpointMessage {
        // The coding of the content is its encryption, and stays.
        var head = request.head
        head.headerFields[.contentEncoding] = nil
        let body = try await Request(head: head, body: request.body).bytes(atMost: EndpointMessage.bytesMax)
        let message = try EndpointMessage(request.headers, body: body)
        if found.access == .vapid || found.endpoint.vapidKey != nil {
            try await verifier.check(request.headers, for: found.endpoint.vapidKey, at: services.clock.now) {
                address.isOwn(origin: $0, request, context)
            }
        }
        return message
    }

    @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Response {
        let found = try await endpoint(request, context)
        let id = try context.messageID.orMissing("message")
        let answer = try await services.webPushEndpoints.answer(of: id, at: found.endpoint).orMissing("message")
        return .object { $0.string("state", answer.name) }
    }

    @Sendable private func retract(_ request: Request, _ context: APIContext) async throws -> Response {
        let found = try await endpoint(request, context)
        guard let id = context.messageID, try await services.webPushEndpoints.retract(id, at: found.endpoint) else {
            throw APIError.missing("message")
        }
        return Response(status: .noContent)
    }

    private struct Found: Sendable {
        let endpoint: WebPushEndpoint
        let platform: Platform
        let access: WebPushAccess
    }

    /// Throws a 404 where there is none, and a 410 where its device is gone, for which application servers forget it.
    private func endpoint(_ request: Request, _ context: APIContext) async throws -> Found {
        let hash = SecretHash.of(context.capability)
        let limiter = services.requestLimiter
        let found = try await limiter.checkCredentials(String?.none, of: request, context, letsRightPass: true) {
            let endpoint =
                try rates.admit(hash, at: services.clock.now)
                ? try await store.webPushEndpoint(keyHash: hash)
                : try await limiter.lookUp(of: request, context) { try await store.webPushEndpoint(keyHash: hash) }
            rates.note(hash, isThere: endpoint != nil, at: services.clock.now)
            return endpoint
        }
        guard let endpoint = found, let application = try await store.application(endpoint.applicationKey) else {
            throw APIError.missing("endpoint")
        }
        try limiter.admit(.endpoints(of: application.key))
        guard endpoint.isAlive, let platform = try await store.platform(endpoint.platformKey) else {
            throw APIError(.gone, "The device of this endpoint is gone")
        }
        guard application.deliveryRules.webPush != .off else { throw APIError.webPushIsOff }
        return Found(endpoint: endpoint, platform: platform, access: application.deliveryRules.webPush)
    }

    // MARK: Devices

    private func asDevice(
        _ handler: @escaping @Sendable (Request, APIContext, Device, Platform) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { [authenticator, services] request, context in
            let platform = try await authenticator.platform(of: request, context)
            guard let uuid = context.parameters.get("device_uuid").flatMap({ UUID(text: $0) }),
                let device = try await services.store.device(uuid, on: platform.key)
            else { throw APIError(.notFound, "This platform has no device with that UUID") }
            return try await handler(request, context, device, platform)
        }
    }

    @Sendable private func create(
        _ request: Request, _ context: APIContext, _ device: Device, _ platform: Platform
    ) async throws -> Response {
        let bytes = try await request.bytes(atMost: Web.bodyBytesMax)
        let new = bytes.isEmpty ? NewWebPushEndpoint() : try NewWebPushEndpoint(json: bytes)
        let application = try await store.application(platform.applicationKey).orMissing("application")
        let made = try await services.webPushEndpoints.create(new, for: device, on: platform, of: application)
        let url = url(request, context) + WebPushEndpoint.path(made.capability)
        return .object(status: .created) { $0.endpoint(made.endpoint, showing: ("endpoint", url)) }
    }

    @Sendable private func list(
        _ request: Request, _ context: APIContext, _ device: Device, _ platform: Platform
    ) async throws -> Response {
        .endpoints(try await store.webPushEndpoints(of: device))
    }

    @Sendable private func delete(
        _ request: Request, _ context: APIContext, _ device: Device, _ platform: Platform
    ) async throws -> Response {
        guard let key = context.endpointKey, try await store.delete(key, of: device) else {
            throw APIError.missing("endpoint")
        }
        return Response(status: .noContent)
    }

    @Sendable private func fetch(
        _ request: Request, _ context: APIContext, _ device: Device, _ platform: Platform
    ) async throws -> Response {
        let wait = min(try Self.wait(request.uri.queryParameters["wait"].map(String.init)), waitMax)
        let endpoint = try await endpoint(of: device, context)
        let holder = try await ShareHolder.of(platform, in: store)
        // A device that waits holds a part of a share, and no thread; without room there it is answered at once.
        let waiting = wait > .zero && endpoint.isFetched ? try? services.shares.take(.fetches, for: holder) : nil
        let lease = try waiting ?? services.shares.take(.searches, for: holder)
        defer { lease.end() }
        let messages = try await services.webPushEndpoints.messages(
            at: endpoint, wait: waiting == nil ? .zero : wait)
        return .object { json in
            json.array("messages", messages) { json, message in
                json.object { json in
                    json.uuid("message_id", message.id)
                    json.string("accepted_at", message.acceptedAt.text)
                    json.string("expires_at", message.expiresAt.text)
                    json.string("topic", message.topic)
                    json.members(message.ciphertext.fields)
                }
            }
        }
    }

    static func waitMax(within timeout: Duration) -> Duration { min(.seconds(waitSeconds.upperBound), timeout * 5 / 6) }

    private static let waitSeconds: ClosedRange<Int64> = 0...30

    private static func wait(_ text: String?) throws(InvalidInput) -> Duration {
        guard let text else { return .zero }
        guard let seconds = Int64(text), waitSeconds ~= seconds else {
            throw InvalidInput(
                field: "wait", "is '\(text.prefix(24))', it has to be 0 to \(waitSeconds.upperBound) seconds")
        }
        return .seconds(seconds)
    }

    @Sendable private func acknowledge(
        _ request: Request, _ context: APIContext, _ device: Device, _ platform: Platform
    ) async throws -> Response {
        let endpoint = try await endpoint(of: device, context)
        guard let id = context.messageID, try await store.deleteMessage(id, at: endpoint.key) else {
            throw APIError.missing("message")
        }
        return Response(status: .noContent)
    }

    private func endpoint(of device: Device, _ context: APIContext) async throws -> WebPushEndpoint {
        let endpoints = try await store.webPushEndpoints(of: device)
        return try endpoints.first(where: { $0.key == context.endpointKey }).orMissing("endpoint")
    }
}

extension Response {
    static func endpoints(_ endpoints: [WebPushEndpoint]) -> Response {
        .object { json in
            json.array("endpoints", endpoints) { json, endpoint in json.object { $0.endpoint(endpoint) } }
        }
    }
}

extension APIContext {
    fileprivate var capability: String { parameters.get("capability") ?? "" }
    fileprivate var messageID: UUID? { parameters.get("message_id").flatMap { UUID(text: $0) } }
    fileprivate var endpointKey: Key<WebPushEndpoint>? {
        parameters.get("endpoint_id").flatMap { Int64($0) }.map { Key($0) }
    }
}

extension APIError {
    fileprivate static func tooFast(wait: Duration) -> APIError {
        let limit = EndpointRates.limit
        return APIError(
            .tooManyRequests,
            "More than \(limit.perSecond) requests a second to one endpoint, \(limit.burst) at once; try again in "
                + "\(wait.wholeSeconds) s", headers: [.retryAfter: String(wait.wholeSeconds)])
    }
}

/// Limits the requests to each endpoint, so that a flood to one device is nobody else's matter. A capability that it knows is looked up
/// whatever others guess.
private final class EndpointRates: Sendable {
    /// By the hash of the capability.
    private let buckets = Mutex(BoundedCache<[UInt8], TokenBucket>(countMax: 65_536))

    /// A conversation of several people, with room for what came while an application server was down.
    static let limit = RateLimit(perSecond: 5, burst: 100)

    /// Counts a request before the database is asked; false for a capability that has not led anywhere yet. Throws where it is one too
    /// many.
    func admit(_ hash: [UInt8], at now: Instant) throws(APIError) -> Bool {
        let (isKnown, wait) = buckets.withLock { buckets -> (Bool, Duration?) in
            guard var bucket = buckets.value(for: hash) else { return (false, nil) }
            let wait = bucket.take(under: Self.limit, at: now)
            buckets.set(bucket, for: hash)
            return (true, wait)
        }
        if let wait { throw .tooFast(wait: wait) }
        return isKnown
    }

    func note(_ hash: [UInt8], isThere: Bool, at now: Instant) {
        buckets.withLock { buckets in
            guard isThere else { return buckets.remove(hash) }
            guard buckets.value(for: hash) == nil else { return }
            var bucket = TokenBucket(Self.limit, at: now)
            _ = bucket.take(under: Self.limit, at: now)
            buckets.set(bucket, for: hash)
        }
    }
}

extension Web {
    /// Makes endpoints for pages, which give them with the browser's own keys to application servers. A browser is known as it is for its
    /// registration.
    struct Endpoints: Sendable {
        let services: Services

        func create(_ request: Request, on platform: Platform, _ access: WebAccess) async throws -> Response {
            let body = try Body(json: try await request.bytes(atMost: Web.bodyBytesMax))
            guard let token = body.subscription else { throw InvalidInput.missing("subscription") }
            guard let uuid = body.device else { throw InvalidInput.missing("device_uuid") }
            guard let device = try await services.store.device(uuid, on: platform.key), device.token == token,
                let application = try await services.store.application(platform.applicationKey)
            else { throw APIError(.notFound, "This platform has no device with that UUID and subscription") }
            if let capability = body.capability,
                let known = try await services.store.webPushEndpoint(keyHash: SecretHash.of(capability)),
                known.deviceKey == device.key, known.vapidKey == body.endpoint.vapidKey
            {
                return .object { $0.endpoint(known, showing: ("path", WebPushEndpoint.path(capability))) }
            }
            let made = try await services.webPushEndpoints.create(
                body.endpoint, for: device, on: platform, of: application)
            return .object(status: .created) {
                $0.endpoint(made.endpoint, showing: ("path", WebPushEndpoint.path(made.capability)))
            }
        }

        private struct Body: Admin.Body {
            static let fields = ["subscription", "device_uuid", "vapid_public_key", "path"]
            private(set) var subscription: DeviceToken?
            private(set) var device: UUID?
            /// The secret of the endpoint that the page has; another is made where that was revoked.
            private(set) var capability: String?
            private(set) var endpoint = NewWebPushEndpoint()

            mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
                switch field {
                case "subscription": subscription = try RegistrationBody.subscription(field, from: &reader)
                case "device_uuid": device = try reader.uuid(field)
                case "path": capability = try reader.string(field).map { String($0.dropFirst(4)) }
                default: try endpoint.read(field, from: &reader)
                }
            }
        }
    }
}
