import BelfryService
import HTTPTypes
import Hummingbird
import Logging
import Metrics
import NIOCore

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
        var json = JSONWriter()
        json.object { json in
            json.integer("timestamp", clock.now.milliseconds)
            json.integer("status", Int64(error.status.code))
            json.string("error", error.status.reasonPhrase)
            json.string("message", error.message)
            json.string("path", request.uri.path)
        }
        return Response(status: error.status, json: json.buffer, headers: error.headers)
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
}
