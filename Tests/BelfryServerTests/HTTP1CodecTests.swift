import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import Testing

@testable import BelfryServer

/// Answers on the wire. Source: RFC 9112 §6 and §7.1.
@Suite struct HTTP1CodecTests {
    private static let stream: [ResponsePart] = [
        .head(HTTPResponse(status: .ok, headerFields: [.contentType: "a/b"])), .body(ByteBuffer()),
        .body(ByteBuffer(string: "twenty-six characters long")), .body(ByteBuffer(string: "!")), .end,
    ]

    @Test func `an answer that is known whole leaves in one piece`() throws {
        let head = HTTPResponse(status: .created, headerFields: [.contentType: "a/b", .contentLength: "2"])
        let written = try Self.write([.whole(head, ByteBuffer(string: "{}"))])
        #expect(written == ["HTTP/1.1 201 Created\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\n{}"])
    }

    @Test func `an answer without a length gets one`() throws {
        let written = try Self.write([.whole(HTTPResponse(status: .ok), ByteBuffer(string: "123"))])
        #expect(written == ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n123"])
    }

    @Test func `a HEAD answer states the omitted length`() throws {
        let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "17"])
        #expect(
            try Self.write([.bodiless(head)]) == ["HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n"])
    }

    @Test(arguments: [HTTPResponse.Status.noContent, .notModified])
    func `an answer that can have no body has none`(status: HTTPResponse.Status) throws {
        let head = HTTPResponse(status: status, headerFields: [.contentLength: "1", .transferEncoding: "chunked"])
        let line = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\r\n"
        #expect(try Self.write([.whole(head, ByteBuffer(string: "x"))]) == [line])
        #expect(try Self.write([.head(head), .end]).joined() == line)
    }

    @Test func `a stream is chunked and only its end is empty`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = ["", "1a\r\ntwenty-six characters long\r\n", "1\r\n!\r\n", "0\r\n\r\n"]
        #expect(try Self.write(Self.stream) == [head] + chunks)
    }

    @Test func `an HTTP 1.0 client gets a stream unchunked`() throws {
        let old = HTTPRequestHead(version: .http1_0, method: .GET, uri: "/", headers: ["Expect": "100-continue"])
        let written = try Self.write(Self.stream, after: old) { request in
            #expect(request.headerFields[.connection] == "close")
            #expect(request.headerFields[.expect] == nil)
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n"
        #expect(written == [head, "", "twenty-six characters long", "!", ""])
    }

    @Test func `a client told to continue gets its answer afterwards`() throws {
        let written = try Self.write([
            .head(HTTPResponse(status: .continue)), .whole(HTTPResponse(status: .ok), ByteBuffer(string: "x")),
        ])
        #expect(written == ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"])
    }

    @Test func `an impossible header cannot be written as two`() throws {
        let head = HTTPResponse(status: .ok, headerFields: [.contentType: "a\r\nSet-Cookie: b"])
        let written = try Self.write([.whole(head, ByteBuffer())])
        #expect(!written.joined().contains("\r\nSet-Cookie"))
    }

    /// Returns the bytes that are sent for each part.
    private static func write(
        _ parts: [ResponsePart], after request: HTTPRequestHead? = nil, _ look: (HTTPRequest) -> Void = { _ in }
    ) throws -> [String] {
        let channel = EmbeddedChannel(handler: HTTP1Codec(isSecure: false))
        if let request {
            try channel.writeInbound(HTTPServerRequestPart.head(request))
            guard case .head(let head) = try channel.readInbound(as: HTTPRequestPart.self) else {
                Issue.record("no request came")
                return []
            }
            look(head)
        }
        return try parts.map { part in
            try channel.writeOutbound(part)
            return String(buffer: try #require(try channel.readOutbound(as: ByteBuffer.self)))
        }
    }
}
