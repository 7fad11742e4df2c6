import HTTPTypes
package import Hummingbird
import NIOCore

extension Request {
    /// The request with its whole body read, before the handler takes anything that others wait for.
    package func whole(atMost limit: Int) async throws -> Request {
        var request = self
        request.body = RequestBody(buffer: ByteBuffer(bytes: try await bytes(atMost: limit)))
        return request
    }

    /// Throws a 415 for a compressed body: its unpacked size has no bound before it is unpacked.
    ///
    /// Source: RFC 9110 §8.4 and §15.5.16; RFC 9112 §7 for a coding of the transfer.
    package func demandPlainBody() throws(APIError) {
        guard let coding = contentCoding ?? transferCoding else { return }
        throw APIError(
            .unsupportedMediaType,
            "The body is compressed (\(coding)), and bodies are read as they are: send it without",
            headers: [.acceptEncoding: "identity"])
    }

    private var contentCoding: String? {
        guard let coding = headers.value(.contentEncoding), !coding.isEmpty, coding.lowercased() != "identity" else {
            return nil
        }
        return "Content-Encoding: \(coding.prefix(32))"
    }

    /// A coding of the transfer other than `chunked`; nil for a body of known length.
    private var transferCoding: String? {
        guard headers.value(.contentLength) == nil, let codings = headers.value(.transferEncoding),
            codings.lowercased() != "chunked"
        else { return nil }
        let isPlain = codings.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.allSatisfy {
            $0 == "chunked" || $0 == "identity"
        }
        return isPlain ? nil : "Transfer-Encoding: \(codings.prefix(32))"
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
