import HTTPTypes
package import Hummingbird

/// The paths of Genero's token maintainer: `/genero/<key>/token_maintainer/…`.
package struct GeneroRoutes: Sendable {
    /// Apps wait five seconds for an answer, and take none for a failure of the network.
    static let answerTime = Duration.seconds(4)

    private let services: Services
    private let check: OpenEndpointCheck

    package init(_ services: Services) {
        self.services = services
        check = OpenEndpointCheck(store: services.store, requestLimiter: services.requestLimiter)
    }

    package func add(to router: Router<APIContext>) {
        let greet: Router<APIContext>.Handler = { request, context in
            _ = try await endpoint(request, context)
            return Self.greeting()
        }
        router.serve(
            "genero/:key/token_maintainer/:command",
            [
                .get: greet,
                .post: { request, context in
                    try await answer(String(context.parameters.get("command") ?? ""), request) {
                        try await endpoint(request, context)
                    }
                },
            ])
        // Clients say hello to whatever address they were given, as the original answers it on every path.
        for path in ["genero/:key", "genero/:key/**", "genero/:key/token_maintainer"] as [RouterPath] {
            router.serve(path, [.get: greet])
        }
    }

    private typealias Found = (endpoint: OpenEndpoint, application: Application)

    private func endpoint(_ request: Request, _ context: APIContext) async throws -> Found {
        try await check.endpoint(.genero, key: String(context.parameters.get("key") ?? ""), of: request, context)
    }

    /// - Parameter find: throws where the caller is not let in.
    private func answer(
        _ name: String, _ request: Request, _ find: @escaping @Sendable () async throws -> Found
    ) async throws -> Response {
        guard request.headers.value(.contentType)?.lowercased().hasPrefix("application/json") == true else {
            _ = try await find()
            return Self.text(.badRequest, "Bad request")
        }
        let reply = try await reply(name, request, find)
        return .object { json in
            json.integer("status", reply.status)
            json.string("message", reply.message)
        }
    }

    private func reply(
        _ name: String, _ request: Request, _ find: @escaping @Sendable () async throws -> Found
    ) async throws -> Genero.CommandResult {
        guard let command = Genero.Command(rawValue: name) else {
            _ = try await find()
            return Genero.CommandResult(.exception, "Unknown command")
        }
        let message: Genero.Message
        do {
            message = try Genero.Message(json: try await request.bytes(atMost: Genero.Message.bytesMax))
        } catch let error where error is InvalidInput || (error as? APIError)?.status == .contentTooLarge {
            _ = try await find()
            return Genero.CommandResult(.exception, "\(error)")
        }
        let result: Result<Genero.CommandResult, any Error>? = await services.clock.result(within: Self.answerTime) {
            do {
                let (endpoint, application) = try await find()
                let maintainer = Genero.TokenMaintainer(
                    services: services, application: application, options: endpoint.options)
                return .success(await maintainer.answer(command, message))
            } catch let error as StoreError {
                return .success(Genero.TokenMaintainer.failed(command, message, by: error))
            } catch {
                return .failure(error)
            }
        }
        return try result?.get()
            ?? Genero.TokenMaintainer.failed(command, message, by: StoreError.overloaded(retryAfter: .zero))
    }

    private static func greeting() -> Response { text(.ok, "Token maintainer is ready.") }

    private static func text(_ status: HTTPResponse.Status, _ words: String) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: words)))
    }
}

// MARK: - The port of its own

extension GeneroRoutes {
    /// The router of a port of its own, for apps that have `http://host:9999` built in. It serves any path that ends as the original's, for
    /// one application.
    ///
    /// - Parameter application: has to have an open endpoint for Genero; callers that are admitted there are admitted here.
    package func plainRouter(
        for application: @escaping @Sendable () async throws -> BelfryService.Application?
    ) -> Router<APIContext> {
        let router = ResponseMiddleware.router(clock: services.clock)
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .delete, .patch, .options, .trace]
        for path in ["/", "/**"] as [RouterPath] {
            for method in methods {
                router.on(path, method: method) { request, context in
                    try await plainAnswer(request) { try await plainEndpoint(request, context, application) }
                }
            }
        }
        return router
    }

    private func plainEndpoint(
        _ request: Request, _ context: APIContext, _ application: @Sendable () async throws -> Application?
    ) async throws -> Found {
        guard let application = try await application() else { throw APIError.missing("path") }
        let found = try await check.plain(request, context) {
            let endpoint = try await services.store.openEndpoints(of: application.key)
                .first { $0.kind == .genero && check.admits($0, request, context) }
            return endpoint.map { [$0] }
        }
        guard let endpoint = found?.first else { throw APIError.missing("path") }
        try services.requestLimiter.admit(.endpoints(of: application.key))
        return (endpoint, application)
    }

    private func plainAnswer(
        _ request: Request, _ find: @escaping @Sendable () async throws -> Found
    ) async throws -> Response {
        if request.method == .post { return try await answer(Self.command(of: request), request, find) }
        _ = try await find()
        switch request.method {
        case .get: return Self.greeting()
        case .head: return Self.greeting().createHeadResponse()
        default: return Self.text(.badRequest, "Bad request")
        }
    }

    /// The last part of a path, where the part before it is the original's; empty otherwise.
    private static func command(of request: Request) -> String {
        let parts = request.uri.path.split(separator: "/")
        guard parts.count >= 2, parts[parts.count - 2] == "token_maintainer" else { return "" }
        return String(parts[parts.count - 1])
    }
}
