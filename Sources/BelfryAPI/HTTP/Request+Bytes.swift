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

    /// The whole body, chunked or not. Throws a 413 as soon as it is known to be longer than `limit`.
    package func bytes(atMost limit: Int) async throws -> [UInt8] {
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
