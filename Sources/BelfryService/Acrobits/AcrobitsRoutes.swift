import HTTPTypes
package import Hummingbird
import Logging
import Metrics

/// The reporters of softphones: every path below `/acrobits/<key>`, by whatever method the operator chose.
package struct AcrobitsRoutes: Sendable {
    private let services: Services
    private let endpoints: OpenEndpointCheck
    private let nonces: Acrobits.DigestNonces
    private let path: PublicPath
    private let registered = Counter(metric: .registrations)
    private let reports = Dictionary(
        uniqueKeysWithValues: AcrobitsService.Result.allCases.map {
            ($0, Counter(metric: .acrobitsReports, [("result", $0.rawValue)]))
        })

    /// - Parameter path: that of the public URL, which softphones sign with the rest of the address.
    package init(_ services: Services, below path: PublicPath = PublicPath(of: nil)) {
        self.services = services
        self.path = path
        nonces = Acrobits.DigestNonces(since: services.clock.now)
        endpoints = OpenEndpointCheck(store: services.store, requestLimiter: services.requestLimiter)
    }

    package func add(to router: Router<APIContext>) {
        for path in ["\(Acrobits.root)/:key", "\(Acrobits.root)/:key/**"] {
            router.serve(RouterPath(path), [.get: answer, .post: answer, .put: answer, .delete: answer])
        }
    }

    /// Answers every report with 200, without a body or a type. The softphone would otherwise repeat its report for ever, and takes a type
    /// without a body for a failure. Source: Acrobits, "Push Token Reporter", Response.
    private func answer(_ request: Request, _ context: APIContext) async throws -> Response {
        let (endpoint, application) = try await endpoints.endpoint(
            .acrobitsReporter, key: context.parameters.get("key") ?? "", of: request, context)
        try await checkDigest(endpoint, application, request, context)
        return try await services.shares.uploading(
            request, atMost: Acrobits.reportBytesMax, for: ShareHolder(application)
        ) {
            let report = try await report(request, endpoint)
            try await act(on: report, Self.path(request).prefix { $0 != "/" }, application, context.logger)
            return Response(status: .ok)
        }
    }

    /// - Parameter action: the first part of the path behind the key.
    private func act(
        on report: AcrobitsReport, _ action: Substring, _ application: Application, _ logger: Logger
    ) async throws {
        switch action {
        case "remove": try await services.acrobits.remove(report, of: application)
        case "received": _ = try await services.acrobits.noteArrival(report, of: application)
        default:
            let result = try await services.acrobits.take(report, for: application)
            reports[result]?.increment()
            if result == .stored { registered.increment() }
            if result == .unknown { logger.debug("a report names no app id that has a platform") }
        }
    }

    private func checkDigest(
        _ endpoint: OpenEndpoint, _ application: Application, _ request: Request, _ context: APIContext
    ) async throws {
        guard endpoint.options[AcrobitsOption.digest] != nil else { return }
        let secret = try services.vault.open(
            application.sharedSecret, for: VaultPurpose.sharedSecret(of: application.uuid))
        let digest = Acrobits.Digest(of: endpoint, sharedSecret: secret)
        // A softphone asks for the challenge first.
        guard let header = try request.headers.authorization() else { throw digest.challenge(at: services.clock.now) }
        let now = services.clock.now
        let isFresh = try await services.requestLimiter.checkCredentials(
            digest.user, of: request, context, letsRightPass: true
        ) { () -> Bool? in
            let target = request.uri.description
            let verdict = digest.verdict(on: header, method: request.method, at: now) {
                (path.routed($0) ?? $0) == target
            }
            return switch verdict {
            case .wrong: nil
            case .stale: false
            case .right(let use): nonces.take(use)
            }
        }
        guard isFresh == true else { throw digest.challenge(at: now, isStale: isFresh != nil) }
    }

    private func report(_ request: Request, _ endpoint: OpenEndpoint) async throws -> AcrobitsReport {
        let body = try await request.bytes(atMost: Acrobits.reportBytesMax)
        let template = try? Acrobits.Template(endpoint.options[AcrobitsOption.template] ?? "")
        return AcrobitsReport(
            Acrobits.ReportRequest(
                path: Self.path(request), query: request.uri.query.map { $0[...] } ?? "",
                contentType: request.headers.value(.contentType), body: body), template: template ?? .none)
    }

    private static func path(_ request: Request) -> Substring {
        var path = request.uri.path[...]
        for _ in 1...2 { path = path.drop { $0 == "/" }.drop { $0 != "/" } }
        return path.drop { $0 == "/" }
    }
}

/// Names of the options of endpoints for softphones.
enum AcrobitsOption {
    /// See `Acrobits.Template`.
    static let template = "template"
    static let digest = "digest"
    /// Whether the mediator answers 404 where a token is dead.
    static let notFound = "dead_token_status"
}
