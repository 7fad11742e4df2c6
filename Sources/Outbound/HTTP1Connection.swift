import HTTP2Client
import NIOCore
import NIOHTTP1

/// One keep-alive connection: a request at a time, each written whole. NIO's parser reads the answers.
final class HTTP1Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// Receives the events of the connection, for its pool.
    protocol Owner: AnyObject {
        /// A request has its answer. The connection is free, or closes.
        func answered(_ job: HTTP1Job, by connection: HTTP1Connection)
        func lost(_ connection: HTTP1Connection)
    }

    /// Since when it is free, in nanoseconds; for its pool.
    var freeSince: UInt64 = 0
    /// The place where its pool keeps it.
    var place = 0
    private(set) var current: (job: HTTP1Job, request: Int)?
    private(set) var isUsable = true
    private weak var owner: (any Owner)?
    private var context: ChannelHandlerContext?
    private var isKeptAlive = true
    private var opened: EventLoopPromise<any Channel>?

    /// A head may have this many bytes and fields.
    private static let limits = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16_384
        limits.maxHeaderListSize = 65_536
        limits.maxHeaderFieldCount = 128
        return limits
    }()

    /// A head for the parser, which has to see each request pass and uses its method alone.
    private static let post = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")

    init(owner: any Owner) { self.owner = owner }

    /// The handlers of a connection, in their order behind TLS.
    func addHandlers(to channel: any Channel) throws {
        let decoder = HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .drop, limitConfiguration: Self.limits)
        try channel.pipeline.syncOperations.addHandlers(
            [RequestBytes(), ByteToMessageHandler(decoder), self] as [any ChannelHandler])
    }

    // MARK: Coming about

    /// Succeeds when requests can be written.
    func opening(on eventLoop: any EventLoop) -> EventLoopFuture<any Channel> {
        let promise = eventLoop.makePromise(of: (any Channel).self)
        opened = promise
        return promise.futureResult
    }

    /// The handler between TLS and the handlers of the connection.
    ///
    /// - Parameter onHTTP2: called when the peer chose HTTP/2, before anything was sent here.
    func alpn(onHTTP2: @escaping () -> Void) -> ALPNHandler {
        ALPNHandler { [self] negotiated, _ in
            guard negotiated == "h2" else { return true }
            onHTTP2()
            failed(HTTP2ConnectError(code: .closed, reason: "the peer speaks HTTP/2"))
            return false
        }
    }

    func connectLapsed() { failed(HTTP2ConnectError(code: .deadline, reason: "no connection in time")) }

    func failed(_ error: any Error) {
        opened?.fail(error)
        opened = nil
        close()
    }

    // MARK: Requests

    func begin(_ job: HTTP1Job, request: Int) {
        current = (job, request)
        guard let context else { return }
        var buffer = context.channel.allocator.buffer(capacity: 2_048)
        job.write(request, into: &buffer)
        context.write(wrapOutboundOut(.head(Self.post)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
    }

    /// Ends the connection; what is under way on it gets no answer any more.
    func close() {
        isUsable = false
        current = nil
        context?.close(promise: nil)
    }

    // MARK: Channel

    // A name may have several addresses, and each that is tried is a channel with this handler, until one is connected.

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { if self.context === context { self.context = nil } }

    func channelActive(context: ChannelHandlerContext) {
        guard let opened else { return context.close(promise: nil) }
        self.context = context
        self.opened = nil
        opened.succeed(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isUsable else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): read(head)
        case .body(let piece):
            guard let current, current.job.keepBody(current.request, piece) else { return }
            // The rest is not waited for: it may have no end.
            isKeptAlive = false
            finish(context)
        case .end: finish(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard self.context === context else { return context.fireChannelInactive() }
        self.context = nil
        isUsable = false
        opened?.fail(HTTP2ConnectError(code: .closed, reason: "the connection ended"))
        opened = nil
        owner?.lost(self)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Only the one that is connected is active.
        if self.context === context || context.channel.isActive {
            opened?.fail(error)
            opened = nil
        }
        context.close(promise: nil)
    }

    private func read(_ head: HTTPResponseHead) {
        guard let current else { return }
        // 101 would be another protocol's first word.
        isKeptAlive = head.isKeepAlive && head.status.code >= 200
        current.job.begin(current.request, status: Int(head.status.code))
        for (name, value) in head.headers { current.job.keep(current.request, name: name, value: value) }
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let current else { return }
        self.current = nil
        if !isKeptAlive { isUsable = false }
        current.job.settle(current.request, .response)
        owner?.answered(current.job, by: self)
        // Last: a connection in the clear says within it that it is lost, and the job may be given up then.
        if !isKeptAlive { context.close(promise: nil) }
    }
}

/// Lets through what was written as bytes already.
private final class RequestBytes: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(.byteBuffer(let bytes)) = unwrapOutboundIn(data) else {
            promise?.succeed()
            return
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }
}
