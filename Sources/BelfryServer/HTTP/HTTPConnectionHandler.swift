import BelfryService
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Runs the requests of a connection, one after the other, on the event loop that reads and writes it.
///
/// A request that arrives whole is answered from memory; the body of any other is passed on as it arrives, no faster
/// than its handler reads it. `HTTPConnectionState` decides, this acts.
/// See docs/decisions/0021-requests-without-streams.md.
final class HTTPConnectionHandler<Responder: HTTPResponder>: ChannelDuplexHandler
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = ResponsePart

    private let responder: Responder
    private let dates: HTTPDates
    private let logger: Logger
    private let channel: any Channel
    private let site: NetworkAddress?
    private let gate: InboundGate
    private let buffered: BufferedBytes
    private let executor: LoopExecutor
    private let over: EventLoopPromise<Void>

    private var state = HTTPConnectionState()
    /// The body of the current request, while it arrives.
    private var body: RequestBodyStream?
    private var answering: Task<Void, Never>?
    private var isRemoved = false
    /// The client has closed its side; it may have disconnected.
    private var isClientFinished = false
    private var callingOff: Scheduled<Void>?
    /// The server stops.
    private var isLeaving = false
    /// Bytes of responses that the client has not read.
    private var unsent = 0

    /// Grace for a client that closed its side; most are gone.
    private static var finishedClientTimeout: TimeAmount { .seconds(1) }
    /// How long a client may take to close its side when the server stops; some never look while they are idle.
    private static var leavingTimeout: TimeAmount { .seconds(2) }

    init(
        on channel: any Channel, of site: NetworkAddress?, behind gate: InboundGate, buffered: BufferedBytes,
        responder: Responder, dates: HTTPDates, logger: Logger
    ) {
        self.channel = channel
        self.site = site
        self.gate = gate
        self.buffered = buffered
        self.responder = responder
        self.dates = dates
        self.logger = logger
        executor = LoopExecutor(loop: channel.eventLoop)
        over = channel.eventLoop.makePromise()
    }

    /// Succeeds when the connection is closed and nothing works for it any more.
    var isOver: EventLoopFuture<Void> { over.futureResult }

    /// Ends the connection at once, even during a request.
    func callOff() {
        answering?.cancel()
        channel.close(promise: nil)
    }

    // MARK: Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { perform(state.received(unwrapInboundIn(data))) }

    func channelReadComplete(context: ChannelHandlerContext) {
        perform(state.readCompleted())
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is InboundGate.ClientFinished:
            isClientFinished = true
            callOffSoonIfFinished()
        case ChannelEvent.inputClosed:
            body?.finish(ChannelError.inputClosed)
            perform(state.inputEnded())
        case is ChannelShouldQuiesceEvent:
            isLeaving = true
            if answering == nil { closeSoon() }
            perform(state.leave())
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.close(promise: nil) }
        body?.finish(error)
        let isTooLong = error as? HTTPParserError == .headerOverflow
        perform(state.refuse(with: isTooLong ? .requestHeaderFieldsTooLarge : .badRequest))
    }

    func channelInactive(context: ChannelHandlerContext) {
        answering?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        answering?.cancel()
        callingOff?.cancel()
        body?.finish(ChannelError.eof)
        countUnsent(0, context)
        if answering == nil { over.succeed() }
    }

    // MARK: Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(wrapOutboundOut(markedIfLast(unwrapOutboundIn(data))), promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        noteUnsent(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        noteUnsent(context)
        let isHeldBack = !PlantedFaults.contains("back-pressure")
        perform(state.writabilityChanged(to: context.channel.isWritable || !isHeldBack))
        context.fireChannelWritabilityChanged()
    }

    private func markedIfLast(_ part: ResponsePart) -> ResponsePart {
        switch part {
        case .whole(let head, let body): .whole(markedIfLast(head), body)
        case .bodiless(let head): .bodiless(markedIfLast(head))
        case .head(let head) where head.status.kind != .informational: .head(markedIfLast(head))
        case .head, .body, .end: part
        }
    }

    private func markedIfLast(_ head: HTTPResponse) -> HTTPResponse {
        guard state.responseBegins() else { return head }
        var head = head
        head.headerFields[.connection] = "close"
        return head
    }

    /// Bytes that the connection cannot accept at once wait in memory until the client reads.
    private func noteUnsent(_ context: ChannelHandlerContext) {
        guard unsent > 0 || !context.channel.isWritable else { return }
        let waiting = try? context.channel.syncOptions?.getOption(ChannelOptions.bufferedWritableBytes)
        countUnsent(waiting ?? 0, context)
    }

    private func countUnsent(_ bytes: Int, _ context: ChannelHandlerContext) {
        let isTooMuch = buffered.outbound(changedBy: bytes - unsent, of: site)
        unsent = bytes
        if isTooMuch { context.close(promise: nil) }
    }

    // MARK: Actions of the state

    private func perform(_ action: HTTPConnectionState.Action?) {
        switch action {
        case .answer(let head, let body): answer(Request(head: head, body: RequestBody(buffer: body)))
        case .answerBeginning(let head, let received): answerBeginning(head, received)
        case .appendBody(let bytes): append(bytes)
        case .endBody:
            body?.finish()
            body = nil
        case .close(let status): close(behind: status)
        case nil: break
        }
        gate.turn(to: state.discards ? .discarding : state.wantsMore ? .open : .held)
    }

    /// A request that its client may not send is refused before its body is read.
    private func answerBeginning(_ head: HTTPRequest, _ received: ByteBuffer) {
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let onBegin: @Sendable () -> Void = { bound.value.tellToContinue() }
        let (stream, body) = RequestBodyStream.begin(
            on: channel.eventLoop, onBegin: state.awaitsContinue ? onBegin : nil
        ) {
            bound.value.bodyDrained()
        }
        self.body = stream
        if received.readableBytes > 0 { append(received) }
        answer(Request(head: head, body: body))
    }

    private func append(_ bytes: ByteBuffer) {
        if body?.yield(bytes) == .stopProducing { state.bodyFilled() }
    }

    private func answer(_ request: Request) {
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let runner = RequestRunner(
            request: request, responder: responder, dates: dates, channel: channel, logger: logger)
        let channel = channel
        answering = Task(executorPreference: executor) {
            await runner.run()
            if channel.eventLoop.inEventLoop {
                bound.value.answered()
            } else {
                channel.eventLoop.execute { bound.value.answered() }
            }
        }
        callOffSoonIfFinished()
    }

    private func answered() {
        answering = nil
        callingOff?.cancel()
        callingOff = nil
        guard !isRemoved else { return over.succeed() }
        perform(state.answered())
    }

    private func callOffSoonIfFinished() {
        guard isClientFinished, answering != nil, callingOff == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        callingOff = channel.eventLoop.scheduleTask(in: Self.finishedClientTimeout) {
            bound.value.answering?.cancel()
        }
    }

    private func tellToContinue() {
        guard !isRemoved, state.continueIfAwaited() else { return }
        channel.writeAndFlush(ResponsePart.head(HTTPResponse(status: .continue)), promise: nil)
    }

    private func bodyDrained() {
        state.bodyDrained()
        if !isRemoved { perform(nil) }
    }

    private func close(behind status: HTTPResponse.Status?) {
        if let status {
            let head = HTTPResponse(
                status: status, headerFields: [.connection: "close", .contentType: "text/plain; charset=utf-8"])
            let words =
                status == .requestHeaderFieldsTooLarge
                ? "Send fewer or shorter headers, or a shorter URL."
                : "This request cannot be read. It needs one Host and one length of its body; in its URL, blanks and "
                    + "letters other than ASCII are written as %20 or %C3%BC."
            channel.writeAndFlush(ResponsePart.whole(head, ByteBuffer(string: words + "\n")), promise: nil)
        }
        // A full close with unread bytes would discard the response.
        channel.close(mode: .output, promise: nil)
        if isLeaving { closeSoon() }
    }

    private func closeSoon() {
        channel.eventLoop.scheduleTask(in: Self.leavingTimeout) { [channel] in channel.close(promise: nil) }
    }
}

/// Runs the jobs of tasks on an event loop: a connection's requests are handled on the loop that reads and writes it.
///
/// Otherwise each request changes threads three times: to the cooperative pool when it was read, again after each wait,
/// and back to the event loop with its response; the wake-ups cost more than reading a body. Handlers never block and
/// work in microseconds, so they do not delay the other connections of the loop. See
/// docs/decisions/0006-what-a-registration-costs.md.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

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

/// Explains the mistake to a client that speaks plain HTTP to a listener with TLS, which a failed handshake does not.
///
/// Every TLS connection begins with a handshake record, whose first byte is 22. Source: RFC 8446 §5.1.
final class PlaintextOnTLSHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard let first = unwrapInboundIn(data).readableBytesView.first else { return }
        guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            return
        }
        isRefused = true
        let answer = PlaintextResponse.buffer("400 Bad Request", "This port speaks HTTPS: begin the URL with https.")
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        context.close(promise: nil)
    }
}
