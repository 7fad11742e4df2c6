package import BelfryCore
import HTTPTypes
package import Hummingbird
import Logging
import NIOCore

/// Turns what handlers throw into answers, in the shape that clients of the original service know from Spring.
///
/// `{"timestamp":ms,"status":400,"error":"Bad Request","message":"…","path":"/v1/push"}`. See docs/Errors.md.
package struct ErrorPages: RouterMiddleware {
    private let clock: any WallClock

    package init(clock: any WallClock) { self.clock = clock }

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as BodyUnreadable {
            throw error.cause
        } catch let error as CancellationError {
            throw error
        } catch {
            return page(for: error, request, context)
        }
    }

    private func page(for cause: any Error, _ request: Request, _ context: APIContext) -> Response {
        let error =
            context.endpointPath == "NotFound"
            ? APIError(.notFound, WrongPath.explained(request.uri.path)) : APIError(cause: cause)
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

    /// Only what a person has to act on is an error; too much work heals when it is done.
    private func report(_ cause: any Error, _ status: HTTPResponse.Status, _ logger: Logger) {
        guard status.kind == .serverError, !(cause is APIError) else { return }
        if case StoreError.overloaded = cause {
            logger.warning("request turned away, too much work waits")
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
