import HTTPTypes
import Hummingbird

/// Checks each call of a web page before its handler: the rate of its address, the registration key, the origin.
///
/// Source: WHATWG Fetch, "HTTP-network-or-cache fetch" and "CORS protocol".
struct WebMiddleware: Sendable {
    private let store: any Store
    private let limiter: RequestLimiter
    private let address: ServerAddress
    private let errorResponses: ErrorResponses

    /// The longest time that browsers remember a preflight: Chromium two hours, Firefox a day.
    private static let preflightSeconds = 7_200

    init(store: any Store, limiter: RequestLimiter, address: ServerAddress, clock: any WallClock) {
        self.store = store
        self.address = address
        self.limiter = limiter
        errorResponses = ErrorResponses(clock: clock)
    }

    /// Runs a handler for the platform of the key. An error is a response too, and any page may read why it is refused.
    func answer(
        _ request: Request, _ context: APIContext,
        _ handler: (Request, Platform, WebAccess) async throws -> Response
    ) async throws -> Response {
        var origin: String? = "*"
        var response: Response
        do {
            try admit(request, context)
            let (platform, access) = try await platform(in: context)
            origin = try allowedOrigin(of: request, context, access)
            response = try await handler(request, platform, access)
        } catch {
            response = try errorResponses.response(for: error, request, context)
        }
        if let origin { response.headers.append(contentsOf: Self.fields(for: origin)) }
        return response
    }

    /// Answers a browser that asks whether a page may send a request.
    func preflight(
        _ request: Request, _ context: APIContext, allows method: HTTPRequest.Method
    ) async throws -> Response {
        try admit(request, context)
        let (_, access) = try await platform(in: context)
        guard let origin = try allowedOrigin(of: request, context, access) else {
            throw APIError(.badRequest, "Origin is missing: OPTIONS is for browsers that ask before they send")
        }
        var headers = Self.fields(for: origin)
        headers[.accessControlAllowMethods] = method.rawValue
        headers[.accessControlAllowHeaders] = "content-type"
        headers[.accessControlMaxAge] = String(Self.preflightSeconds)
        return Response(status: .noContent, headers: headers)
    }

    private func admit(_ request: Request, _ context: APIContext) throws(APIError) {
        try limiter.admit(Principal(.browsers, Int64(limiter.site(of: request, context).hashValue)))
    }

    private func platform(in context: APIContext) async throws -> (Platform, WebAccess) {
        let key = context.parameters.get("registration_key").flatMap { RegistrationKey($0) }
        guard let key, let platform = try await store.platform(key.platform), let access = platform.webAccess,
            access.key == key
        else { throw APIError(.notFound, "No platform takes registrations of web pages by this key") }
        return (platform, access)
    }

    /// nil for a request that no page of another site sends: browsers leave `Origin` out of a GET to their own.
    private func allowedOrigin(
        of request: Request, _ context: APIContext, _ access: WebAccess
    ) throws(APIError) -> String? {
        guard let origin = request.headers.value(.origin) else {
            if request.method == .get || request.method == .head { return nil }
            throw APIError(.forbidden, "Origin is missing: this path is for web pages, which always send it")
        }
        guard address.isOwn(origin: origin, request, context) || access.origins.contains(where: { $0.text == origin })
        else {
            throw APIError(
                .forbidden, "Pages of \(origin.prefix(WebOrigin.bytesMax)) may not register browsers on this platform")
        }
        return origin
    }

    private static func fields(for origin: String) -> HTTPFields {
        [.accessControlAllowOrigin: origin, .vary: "Origin", .accessControlExposeHeaders: "retry-after"]
    }
}
