import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes a connection whose request is not read and answered in time, so that a client that sends or reads byte by byte
/// holds nothing for ever. A client that sends nothing at all is the idle time-out's. Of an event stream, which does not
/// end, each part has to be taken in time.
///
/// One timer for each connection, set at most once in a deadline's time however many requests come.
/// See `BadInputTests`, "a client that sends its body byte by byte is closed".
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let patience: TimeAmount
    /// When the oldest request at hand is to be done with; nil while there is none.
    private var dueAt: NIODeadline?
    private var timer: Scheduled<Void>?
    private var isReading = false
    private var unanswered = 0
    private var isStreaming = false
    /// Parts of a stream that the client has not taken yet.
    private var untaken = 0

    init(_ patience: Duration) { self.patience = TimeAmount(patience) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isReading = true
            unanswered += 1
            if dueAt == nil { begin(context) }
        case .body: break
        case .end:
            isReading = false
            restIfDone()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            isStreaming = head.headerFields[.contentType] == "text/event-stream"
            if isStreaming { dueAt = nil }
            context.write(data, promise: promise)
        case .body where isStreaming:
            if untaken == 0 { begin(context) }
            untaken += 1
            write(context, data, promise) { handler, _ in handler.taken() }
        case .body: context.write(data, promise: promise)
        case .end:
            isStreaming = false
            write(context, data, promise) { handler, context in handler.answered(context) }
        }
    }

    private func write(
        _ context: ChannelHandlerContext, _ data: NIOAny, _ promise: EventLoopPromise<Void>?,
        then done: @escaping @Sendable (RequestDeadline, ChannelHandlerContext) -> Void
    ) {
        let written = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        written.futureResult.whenSuccess {
            let (handler, context) = bound.value
            done(handler, context)
        }
        context.write(data, promise: written)
    }

    private func taken() {
        untaken -= 1
        if untaken == 0, isStreaming { dueAt = nil }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    /// The next request of a pipeline has a deadline of its own.
    private func answered(_ context: ChannelHandlerContext) {
        unanswered -= 1
        if unanswered > 0 { begin(context) }
        restIfDone()
    }

    private func restIfDone() {
        if !isReading, unanswered == 0 { dueAt = nil }
    }

    private func begin(_ context: ChannelHandlerContext) {
        dueAt = context.eventLoop.now + patience
        if timer == nil { look(context, at: context.eventLoop.now + patience) }
    }

    private func look(_ context: ChannelHandlerContext, at time: NIODeadline) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: time) {
            let (handler, context) = bound.value
            handler.timer = nil
            guard let dueAt = handler.dueAt else { return }
            guard dueAt <= context.eventLoop.now else { return handler.look(context, at: dueAt) }
            context.close(promise: nil)
        }
    }
}
