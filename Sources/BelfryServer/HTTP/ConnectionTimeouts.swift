import BelfryService
import HTTPTypes
import Metrics
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Closes a connection that is idle for too long, or whose request is not read and answered in time, so that a client
/// that sends or reads byte by byte holds nothing for ever. An event stream does not end, so each of its parts must be
/// read in time.
///
/// One timer for each connection, set at most once in the shorter time limit however many requests arrive.
/// See `BadInputTests`, "a client sending its body byte by byte is closed".
final class ConnectionTimeouts: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = ResponsePart

    /// The limit between requests.
    private let idle: TimeAmount
    /// The limit on a request, from its head to the last byte of its response.
    private let request: TimeAmount
    /// When the connection is closed, unless a request begins or ends before; nil while a stream waits for its next
    /// part.
    private var dueAt: NIODeadline?
    private var timer: Scheduled<Void>?
    private var isReading = false
    private var unanswered = 0
    private var isStreaming = false
    /// Parts of a stream that the client has not read yet.
    private var untaken = 0

    init(_ configuration: TimeoutConfiguration) {
        idle = TimeAmount(configuration.idle)
        request = TimeAmount(configuration.request)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { wait(idle, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        wait(idle, context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            if isWaiting { wait(request, context) }
            isReading = true
            unanswered += 1
        case .body: break
        case .end:
            isReading = false
            if isWaiting { wait(idle, context) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .whole, .bodiless: write(context, data, promise) { handler, context in handler.answered(context) }
        case .head(let head):
            isStreaming = head.headerFields[.contentType] == "text/event-stream"
            if isStreaming { dueAt = nil }
            context.write(data, promise: promise)
        case .body where isStreaming:
            if untaken == 0 { wait(request, context) }
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
        then done: @escaping @Sendable (ConnectionTimeouts, ChannelHandlerContext) -> Void
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

    /// The next request of a pipeline has its own deadline.
    private func answered(_ context: ChannelHandlerContext) {
        unanswered -= 1
        if unanswered > 0 { wait(request, context) } else if !isReading { wait(idle, context) }
    }

    private var isWaiting: Bool { !isReading && unanswered == 0 }

    private func wait(_ timeouts: TimeAmount, _ context: ChannelHandlerContext) {
        let dueAt = context.eventLoop.now + timeouts
        self.dueAt = dueAt
        if timer == nil { look(context, by: dueAt) }
    }

    /// Checks the deadline again later; nothing that begins or ends meanwhile is due earlier.
    private func look(_ context: ChannelHandlerContext, by dueAt: NIODeadline) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: min(dueAt, context.eventLoop.now + min(idle, request))) {
            let (handler, context) = bound.value
            handler.timer = nil
            guard let dueAt = handler.dueAt else { return }
            guard dueAt <= context.eventLoop.now else { return handler.look(context, by: dueAt) }
            context.close(promise: nil)
        }
    }
}

/// Counts the connections of a listener, in total and by address, and refuses those beyond the limits.
final class ConnectionLimiter: Sendable {
    struct Limits: Sendable {
        let total: Int
        let perAddress: Int
        /// Whether an address is a trusted proxy; only the total limits it.
        let isProxy: @Sendable (NetworkAddress) -> Bool
    }

    enum Reason: String, CaseIterable, Sendable { case total, address, files }

    private let limits: Limits
    /// The share of all listeners together; nil for one that has descriptors of its own.
    private let shared: SharedConnections?
    private let counts = Mutex(Counts())
    private let open: Meter
    private let refusals: [Reason: Counter]

    private struct Counts {
        var total = 0
        var byAddress: [NetworkAddress: Int] = [:]
    }

    init(listener: String, limits: Limits, shared: SharedConnections?) {
        self.limits = limits
        self.shared = shared
        open = Metric.connections(listener)
        refusals = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { ($0, Metric.refusals(listener, $0.rawValue)) })
    }

    /// The site that a connection counts for; nil for a trusted proxy.
    func site(of address: NetworkAddress?) -> NetworkAddress? {
        address.flatMap { limits.isProxy($0) ? nil : $0.site }
    }

    /// nil when the connection is admitted; then `left` must be called when it is closed.
    ///
    /// - Parameter address: nil for a connection without an IP address; only the total limits that.
    func enter(_ address: NetworkAddress?) -> Reason? {
        let site = site(of: address)
        let reason = counts.withLock { counts -> Reason? in
            if counts.total >= limits.total { return .total }
            if let site, counts.byAddress[site, default: 0] >= limits.perAddress { return .address }
            if let shared, !shared.enter() { return .files }
            counts.total += 1
            if let site { counts.byAddress[site, default: 0] += 1 }
            open.set(counts.total)
            return nil
        }
        if let reason { refusals[reason]?.increment() }
        return reason
    }

    func left(_ address: NetworkAddress?) {
        let site = site(of: address)
        counts.withLock { counts in
            counts.total -= 1
            shared?.left()
            open.set(counts.total)
            guard let site, let count = counts.byAddress[site] else { return }
            counts.byAddress[site] = count > 1 ? count - 1 : nil
        }
    }
}
