import NIOCore

/// Answers a connection beyond the limits, and closes it.
final class OverloadHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether to send the reason; plain text is useless to a client that speaks TLS.
    private let isSpoken: Bool

    init(isSpoken: Bool) { self.isSpoken = isSpoken }

    func channelActive(context: ChannelHandlerContext) {
        if isSpoken {
            let answer = PlaintextResponse.buffer(
                "503 Service Unavailable", "Too many connections are open.", headers: ["Retry-After: 5"])
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        }
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

/// A response in plain HTTP/1.1, written without the HTTP pipeline; the connection is closed after it.
enum PlaintextResponse {
    static func buffer(_ status: String, _ words: String, headers: [String] = []) -> ByteBuffer {
        let lines =
            ["HTTP/1.1 \(status)"] + headers + [
                "Content-Type: text/plain; charset=utf-8", "Content-Length: \(words.utf8.count + 1)",
                "Cache-Control: no-store", "X-Content-Type-Options: nosniff", "Connection: close", "", words + "\n",
            ]
        return ByteBuffer(string: lines.joined(separator: "\r\n"))
    }
}
