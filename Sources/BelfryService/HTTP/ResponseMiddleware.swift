import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOCore

/// Common to every request of every API: names its trace, turns errors into responses, sets the common headers and
/// counts the response.
package struct ResponseMiddleware: RouterMiddleware {
    private let errorResponses: ErrorResponses
    private let headers: SecurityHeaders
    private let meter = RequestMeter()

    /// A router with this middleware in place. Routes are added after it.
    ///
    /// - Parameter isSecure: whether the listener speaks TLS.
    package static func router(clock: any WallClock, isSecure: Bool = false) -> Router<APIContext> {
        Router(context: APIContext.self)
            .add(
                middleware: Self(
                    errorResponses: ErrorResponses(clock: clock), headers: SecurityHeaders(isSecure: isSecure)))
    }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        var context = context
        if let caller = TraceParent(of: request) { context.logger.name(caller) }
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = try errorResponses.response(for: error, request, context)
        }
        headers.add(to: &response)
        meter.note(request, context, response, since: start)
        return response
    }
}

extension Response {
    /// The verdicts on the rows of an import that are there by now, as a CSV that is written while they are read.
    package static func verdicts(of job: Key<ImportJob>, in store: any Store) -> Response {
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: ImportService.Verdict.csvHead))
            var position = 0
            while case let some = try await store.importVerdicts(of: job, after: position, limit: stepsAtOnce),
                let last = some.last
            {
                for step in some { try await writer.write(ByteBuffer(bytes: step.lines)) }
                try Task.checkCancellation()
                position = last.position
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/csv; charset=utf-8"], body: body)
    }

    /// Read at a time. Each has some ten KiB.
    private static let stepsAtOnce = 8
}

/// Tells browsers and caches not to sniff, frame or store API responses.
///
/// Source: OWASP REST Security Cheat Sheet, "Security Headers".
struct SecurityHeaders: Sendable {
    private let headers: HTTPFields

    /// - Parameter isSecure: whether the listener speaks TLS. Browsers are then told never to use plain HTTP.
    init(isSecure: Bool) {
        var headers: HTTPFields = [
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
            .xFrameOptions: "DENY",
            .referrerPolicy: "no-referrer",
        ]
        if isSecure { headers[.strictTransportSecurity] = "max-age=63072000" }
        self.headers = headers
    }

    func add(to response: inout Response) {
        if !response.headers.contains(.cacheControl) {
            response.headers.append(HTTPField(name: .cacheControl, value: "no-store"))
        }
        // A page that is shown to people brings a policy of its own.
        for header in headers where !response.headers.contains(header.name) { response.headers.append(header) }
    }
}

/// Turns errors of handlers into responses, in the form that clients of the original service know from Spring.
///
/// `{"timestamp":ms,"status":400,"error":"Bad Request","message":"…","path":"/v1/push"}`. See docs/Errors.md.
struct ErrorResponses: Sendable {
    let clock: any WallClock

    /// Throws errors that are not for the caller: that the connection is unusable, or that the request was cancelled.
    func response(for cause: any Error, _ request: Request, _ context: APIContext) throws -> Response {
        if let unreadable = cause as? BodyUnreadable { throw unreadable.cause }
        if cause is CancellationError { throw cause }
        let error =
            context.endpointPath == "NotFound"
            ? APIError(.notFound, WrongPath.explained(request.uri.path)) : APIError(cause: cause)
        if case StoreError.quotaExceeded(let excess) = cause {
            Counter(metric: .quotaRefusals, [("quota", excess.quota.rawValue)]).increment()
        }
        report(cause, error.status, context.logger)
        return .object(status: error.status, headers: error.headers) { json in
            json.integer("timestamp", clock.now.milliseconds)
            json.integer("status", Int64(error.status.code))
            json.string("error", error.status.reasonPhrase)
            json.string("message", error.message)
            json.string("path", request.uri.path)
        }
    }

    /// Logged as an error only if an operator must act; overload ends by itself.
    private func report(_ cause: any Error, _ status: HTTPResponse.Status, _ logger: Logger) {
        guard status.kind == .serverError, !(cause is APIError) else { return }
        if case StoreError.overloaded = cause {
            logger.warning("request refused, too much work waits")
        } else {
            logger.error("request failed", metadata: ["error": "\(cause)"])
        }
    }
}

extension Response {
    static let jsonType = "application/json;charset=UTF-8"

    init(status: HTTPResponse.Status = .ok, json: ByteBuffer, headers: HTTPFields = [:]) {
        var headers = headers
        headers[.contentType] = Self.jsonType
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: json))
    }

    /// An answer with an object in JSON.
    static func object(
        status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ members: (inout JSONWriter) -> Void
    ) -> Response {
        .written(status: status, headers: headers) { $0.object(members) }
    }

    /// An answer with one value in JSON.
    static func written(
        status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ write: (inout JSONWriter) -> Void
    ) -> Response {
        var json = JSONWriter()
        write(&json)
        return Response(status: status, json: json.buffer, headers: headers)
    }
}
