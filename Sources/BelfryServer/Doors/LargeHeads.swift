import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Answers 431 to a request whose head is over the limit, and ends the connection.
///
/// While an answer is on its way the connection is closed without a word, since the words would stand in its middle.
final class LargeHeads: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var unanswered = 0
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) { unanswered += 1 }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else { return promise?.fail(ChannelError.ioOnClosedChannel) ?? () }
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case HTTPParserError.headerOverflow = error else { return context.fireErrorCaught(error) }
        isOver = true
        guard unanswered == 0 else { return context.close(promise: nil) }
        let head = HTTPResponse(
            status: .requestHeaderFieldsTooLarge, headerFields: [.contentLength: "0", .connection: "close"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // A full close with bytes unread would take the answer away from under the caller.
        context.close(mode: .output, promise: nil)
    }
}
