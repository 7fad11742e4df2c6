import NIOCore
import NIOHTTP1

/// Has connections of HTTP/1.0 closed behind their first answer, which is how its clients know that the answer ended; and
/// leaves out what they cannot mean. Source: RFC 9112 §9.3, RFC 9110 §10.1.1.
final class OldVersions: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), head.version == .http1_0 || head.version == .http0_9 else {
            return context.fireChannelRead(data)
        }
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        head.headers.remove(name: "Expect")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
