import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Passes on what NIO's parser read, and encodes responses as HTTP/1.1: a complete response is written in one buffer,
/// which costs half as much as its head, body and end separately. See docs/decisions/0021-requests-without-streams.md.
final class HTTP1Codec: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = ByteBuffer

    private let isSecure: Bool
    /// The client speaks HTTP/1.0, and expects a response to end with the connection.
    private var isOld = false
    private var isChunked = false

    /// - Parameter isSecure: whether the connection speaks TLS.
    init(isSecure: Bool) { self.isSecure = isSecure }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            if head.version == .http1_0 || head.version == .http0_9 {
                adapt(&head)
            } else if head.headers["host"].count != 1 {
                // Two servers in sequence must not read it as two different hosts. Source: RFC 9112 §3.2.
                return context.fireErrorCaught(HTTPParserError.unknown)
            }
            // The parser stops after a request for another protocol, and this server speaks no other.
            if head.asksForAnotherProtocol { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            do {
                let request = try HTTPRequest(head, secure: isSecure, splitCookie: false)
                context.fireChannelRead(wrapInboundOut(.head(request)))
            } catch {
                context.fireErrorCaught(HTTPParserError.unknown)
            }
        case .body(let bytes): context.fireChannelRead(wrapInboundOut(.body(bytes)))
        case .end: context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        // A long body is not copied: many connections may be sent the same one.
        guard case .whole(let head, let body) = part, body.readableBytes >= Self.copiedMax, head.status.hasBody else {
            return context.write(wrapOutboundOut(bytes(of: part)), promise: promise)
        }
        isChunked = false
        context.write(wrapOutboundOut(ByteBuffer(head: head, bodyLength: body.readableBytes)), promise: nil)
        context.write(wrapOutboundOut(body), promise: promise)
    }

    /// Shorter bodies are written in one buffer with their head, which costs less than two.
    private static let copiedMax = 16_384

    /// Closes the connection after its first response, and removes headers that such a client cannot mean.
    /// Source: RFC 9112 §9.3, RFC 9110 §10.1.1.
    private func adapt(_ head: inout HTTPRequestHead) {
        isOld = true
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        head.headers.remove(name: "Expect")
    }

    private func bytes(of part: ResponsePart) -> ByteBuffer {
        switch part {
        case .whole(let head, let body):
            isChunked = false
            return ByteBuffer(head: head, bodyLength: body.readableBytes, followedBy: body)
        case .bodiless(let head):
            isChunked = false
            return ByteBuffer(head: head)
        case .head(let head):
            isChunked = !isOld && head.status.hasBody && !head.headerFields.contains(.contentLength)
            return ByteBuffer(head: head, isChunked: isChunked)
        case .body(let body): return isChunked ? ByteBuffer(chunk: body) : body
        case .end: return isChunked ? ByteBuffer(string: "0\r\n\r\n") : ByteBuffer()
        }
    }
}

extension ByteBuffer {
    /// - Parameter bodyLength: sent if the response has a body and its head does not give the length; nil where it is
    ///   unknown, or where there is no body.
    fileprivate init(
        head: HTTPResponse, bodyLength: Int? = nil, isChunked: Bool = false, followedBy body: ByteBuffer = ByteBuffer()
    ) {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        text.append(contentsOf: "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n".utf8)
        let hasBody = head.status.hasBody
        for field in head.headerFields where hasBody || !field.name.isOfBody {
            text.append(contentsOf: field.name.rawName.utf8)
            text.append(contentsOf: ": ".utf8)
            text.append(contentsOf: field.value.utf8)
            text.append(contentsOf: "\r\n".utf8)
        }
        if hasBody, let bodyLength, !head.headerFields.contains(.contentLength) {
            text.append(contentsOf: "Content-Length: \(bodyLength)\r\n".utf8)
        }
        if isChunked { text.append(contentsOf: "Transfer-Encoding: chunked\r\n".utf8) }
        text.append(contentsOf: "\r\n".utf8)
        self = ByteBufferAllocator().buffer(capacity: text.count + body.readableBytes)
        writeBytes(text)
        if hasBody { writeImmutableBuffer(body) }
    }

    /// Source: RFC 9112 §7.1. An empty chunk would end the body.
    fileprivate init(chunk: ByteBuffer) {
        self.init()
        guard chunk.readableBytes > 0 else { return }
        writeString(String(chunk.readableBytes, radix: 16))
        writeStaticString("\r\n")
        writeImmutableBuffer(chunk)
        writeStaticString("\r\n")
    }
}

extension HTTPRequestHead {
    /// Source: RFC 9110 §7.8 and §9.3.6; a server may continue in HTTP/1.1.
    fileprivate var asksForAnotherProtocol: Bool { method == .CONNECT || headers.contains(name: "Upgrade") }
}

extension HTTPResponse.Status {
    /// Source: RFC 9112 §6.3.
    fileprivate var hasBody: Bool { kind != .informational && self != .noContent && self != .notModified }
}

extension HTTPField.Name {
    fileprivate var isOfBody: Bool { self == .contentLength || self == .transferEncoding }
}
