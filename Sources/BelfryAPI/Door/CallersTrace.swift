import HTTPTypes
package import Hummingbird
import Logging

/// Names the trace that a request belongs to in everything that is logged about it.
package struct CallersTrace: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: APIContext, next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard let parent = request.headers[.traceparent].flatMap(TraceParent.init) else {
            return try await next(request, context)
        }
        var context = context
        context.logger[metadataKey: "trace.id"] = "\(parent.trace)"
        context.logger[metadataKey: "trace.parent.id"] = "\(parent.span)"
        return try await next(request, context)
    }
}

/// What a caller says of the trace it is in. Source: W3C Trace Context, §3.2 "Traceparent Header".
struct TraceParent: Equatable {
    let trace: Substring
    /// What the caller was doing when it called.
    let span: Substring

    /// `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; later versions may add to it. nil for everything else, which is
    /// to be read as if it were not there.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4,
            zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.count == $1 && $0.allSatisfy(\.isLowerHex) }),
            parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        trace = parts[1]
        span = parts[2]
    }
}

extension Character {
    fileprivate var isLowerHex: Bool { isASCII && ("0"..."9" ~= self || "a"..."f" ~= self) }
}
