import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Has the requests of a connection answered, one after the other, on the event loop that reads and writes it.
///
/// A request that comes at once is answered from memory; of any other the body is handed on as it comes, no faster than it
/// is read. What comes behind a request waits for its answer.
/// See docs/decisions/0021-requests-without-streams.md.
final class Conversation<Responder: HTTPResponder>: ChannelDuplexHandler
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = AnswerPart
    typealias OutboundOut = AnswerPart

    private let responder: Responder
    private let dates: HTTPDates
    private let logger: Logger
    private let channel: any Channel
    private let executor: LoopExecutor
    private let over: EventLoopPromise<Void>

    /// The request that is being read, as far as it came at once.
    private var heard: (head: HTTPRequest, body: ByteBuffer)?
    /// What is still read of the body of the request that is being answered.
    private var upload: Upload?
    /// Whether the client waits for a word before it sends its body.
    private var isAwaited = false
    private var answering: Task<Void, Never>?
    /// What came behind the request that is being answered.
    private var waiting: CircularBuffer<HTTPRequestPart> = []
    private var isReadHeld = false
    /// How the connection ends when all that came is answered; nil while more may come.
    private var ending: Ending?
    /// Nothing more is heard nor said.
    private var isEnded = false

    private enum Ending {
        /// The client wants no more, or the server.
        case close
        /// What the client sends is no HTTP, or more than is read.
        case refuse(HTTPResponse.Status)
    }

    /// More parts than this stay in the socket.
    private static var waitingMax: Int { 16 }

    init(on channel: any Channel, responder: Responder, dates: HTTPDates, logger: Logger) {
        self.channel = channel
        self.responder = responder
        self.dates = dates
        self.logger = logger
        executor = LoopExecutor(loop: channel.eventLoop)
        over = channel.eventLoop.makePromise()
    }

    /// Succeeds when the connection is closed and nothing works for it any more.
    var isOver: EventLoopFuture<Void> { over.futureResult }

    /// Ends the connection, whatever is being done for it.
    func callOff() {
        answering?.cancel()
        channel.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnded else { return }
        let part = unwrapInboundIn(data)
        if isListening { hear(part) } else { waiting.append(part) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        answerBeginning()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = waiting.count > Self.waitingMax || upload?.isFull == true
        if !isReadHeld { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .whole(let head, let body):
            context.write(wrapOutboundOut(.whole(final(head), body)), promise: promise)
        case .head(let head) where head.status != .continue:
            context.write(wrapOutboundOut(.head(final(head))), promise: promise)
        case .head, .body, .end: context.write(data, promise: promise)
        }
    }

    private func final(_ head: HTTPResponse) -> HTTPResponse {
        isAwaited = false
        guard isLast else { return head }
        var head = head
        head.headerFields[.connection] = "close"
        return head
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: end(.close)
        case is ChannelShouldQuiesceEvent: leave()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow: end(.refuse(.requestHeaderFieldsTooLarge), error)
        case is HTTPParserError: end(.refuse(.badRequest), error)
        default: context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isEnded = true
        waiting = []
        upload?.finish(ChannelError.eof)
        if answering == nil { over.succeed() }
    }

    /// Whether the next part is of the request at hand, or there is none.
    private var isListening: Bool { answering == nil || upload != nil }

    /// Whether no answer comes behind the one at hand.
    private var isLast: Bool {
        if case .close = ending { waiting.isEmpty } else { isEnded }
    }

    private func hear(_ part: HTTPRequestPart) {
        switch part {
        case .head(let head): heard = (head, ByteBuffer())
        case .body(let bytes) where upload != nil:
            isAwaited = false
            upload?.yield(bytes)
        case .body(let bytes): heard?.body.append(bytes)
        case .end:
            if let heard { answer(Request(head: heard.head, body: RequestBody(buffer: heard.body))) }
            heard = nil
            upload?.finish()
            upload = nil
        }
    }

    /// Whoever sent no more than the beginning may be refused already.
    private func answerBeginning() {
        guard let heard else { return }
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        isAwaited = heard.head.headerFields[.expect]?.lowercased() == "100-continue" && heard.body.readableBytes == 0
        let encourage: @Sendable () -> Void = { bound.value.encourage() }
        var (upload, body) = Upload.begin(on: channel.eventLoop, onBegin: isAwaited ? encourage : nil) {
            bound.value.demand()
        }
        if heard.body.readableBytes > 0 { upload.yield(heard.body) }
        self.upload = upload
        self.heard = nil
        answer(Request(head: heard.head, body: body))
    }

    private func answer(_ request: Request) {
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let exchange = Exchange(request: request, responder: responder, dates: dates, channel: channel, logger: logger)
        let channel = channel
        answering = Task(executorPreference: executor) {
            let isLast = await exchange.run()
            if channel.eventLoop.inEventLoop {
                bound.value.answered(isLast: isLast)
            } else {
                channel.eventLoop.execute { bound.value.answered(isLast: isLast) }
            }
        }
    }

    /// - Parameter isLast: whether the client wants no more.
    private func answered(isLast: Bool) {
        answering = nil
        guard !isEnded else { return over.succeed() }
        if isLast {
            ending = .close
            waiting = []
        }
        upload?.refill()
        while isListening, let part = waiting.popFirst() { hear(part) }
        answerBeginning()
        endIfDue()
        resumeReading()
    }

    private func resumeReading() {
        if isReadHeld { channel.read() }
    }

    /// Whoever is refused without a look at the body need not send it. Source: RFC 9110 §10.1.1.
    private func encourage() {
        guard isAwaited, !isEnded else { return }
        isAwaited = false
        channel.writeAndFlush(AnswerPart.head(HTTPResponse(status: .continue)), promise: nil)
    }

    private func demand() {
        upload?.refill()
        resumeReading()
    }

    /// - Parameter error: what the reader of an unfinished body gets.
    private func end(_ ending: Ending, _ error: any Error = ChannelError.inputClosed) {
        if self.ending == nil { self.ending = ending }
        upload?.finish(error)
        heard = nil
        endIfDue()
    }

    /// The server wants no more than what came already.
    private func leave() {
        guard answering != nil else { return channel.close(promise: nil) }
        ending = ending ?? .close
    }

    private func endIfDue() {
        guard let ending, answering == nil, !isEnded else { return }
        isEnded = true
        if case .refuse(let status) = ending {
            channel.writeAndFlush(AnswerPart.whole(HTTPResponse(status: status), ByteBuffer()), promise: nil)
        }
        // A full close with bytes unread would take the answer away from under the client.
        channel.close(mode: .output, promise: nil)
    }
}
