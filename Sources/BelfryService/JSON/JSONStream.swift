import Hummingbird
import NIOCore

/// An array of any length, read and written chunk by chunk, so that only one chunk is in memory.
struct JSONStream<Element: Sendable>: Sendable {
    /// The text before the first element and after the last.
    let frame: (open: StaticString, close: StaticString)
    /// The elements after one, or the first; none at the end.
    let chunk: @Sendable (_ after: Element?) async throws -> [Element]
    let write: @Sendable (inout JSONWriter, Element) -> Void

    /// The first chunk is read before the response begins, so that a wrong request gets an error.
    func response() async throws -> Response {
        let first = try await chunk(nil)
        let body = ResponseBody { writer in
            var elements = first
            var json = JSONWriter()
            json.write(frame.open)
            while let last = elements.last {
                for element in elements { write(&json, element) }
                try await writer.write(json.take())
                try Task.checkCancellation()
                elements = try await chunk(last)
            }
            json.write(frame.close)
            try await writer.write(json.take())
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/json;charset=UTF-8"], body: body)
    }
}
