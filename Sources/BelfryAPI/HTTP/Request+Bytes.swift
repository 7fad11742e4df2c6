import HTTPTypes
package import Hummingbird
import NIOCore

extension Request {
    /// The request with its whole body here: before it takes what others wait for.
    package func whole(atMost limit: Int) async throws -> Request {
        var request = self
        request.body = RequestBody(buffer: ByteBuffer(bytes: try await bytes(atMost: limit)))
        return request
    }

    /// Throws a 415 for a body that is compressed: what it unpacks to has no bound before it is unpacked.
    ///
    /// Source: RFC 9110 §8.4 and §15.5.16.
    package func demandPlainBody() throws(APIError) {
        guard let coding = headers.value(.contentEncoding), !coding.isEmpty, coding.lowercased() != "identity" else {
            return
        }
        throw APIError(
            .unsupportedMediaType,
            "The body is compressed (Content-Encoding: \(coding.prefix(32))), and bodies are read as they are: send it without",
            headers: [.acceptEncoding: "identity"])
    }

    /// The whole body, chunked or not. Throws a 413 as soon as it is known to be longer than `limit`.
    package func bytes(atMost limit: Int) async throws -> [UInt8] {
        try demandPlainBody()
        if let length = headers.value(.contentLength).flatMap(Int.init), length > limit {
            throw APIError(.contentTooLarge, "body is \(length) bytes, the limit is \(limit)")
        }
        do {
            return Array(buffer: try await body.collect(upTo: limit))
        } catch is NIOTooManyBytesError {
            throw APIError(.contentTooLarge, "body is over the limit of \(limit) bytes")
        } catch {
            throw BodyUnreadable(cause: error)
        }
    }
}
