import BelfryService
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceLifecycle
import Synchronization

/// Sets up the connections of a listener: limits on connections, TLS, the limits of a head, the deadlines.
struct HTTPListener<Responder: HTTPResponder>: ServerChildChannel
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let responder: Responder
    let connectionLimiter: ConnectionLimiter
    /// nil for a listener without TLS.
    let certificate: Certificate?
    let timeouts: TimeoutConfiguration
    let heads: HeadConfiguration
    let buffered: BufferedBytes
    private let dates = HTTPDates()
    private let open = OpenConnections()

    struct Connection: ServerChildChannelValue {
        let channel: any Channel
        /// Succeeds when it is closed and nothing works for it any more.
        let isOver: EventLoopFuture<Void>
        /// Ends it at once, even during a request.
        let callOff: @Sendable () -> Void
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let address = channel.remoteAddress.flatMap(NetworkAddress.init)
            guard connectionLimiter.enter(address) == nil else {
                try pipeline.addHandler(OverloadHandler(isSpoken: certificate == nil))
                return Connection(channel: channel, isOver: channel.closeFuture) { channel.close(promise: nil) }
            }
            channel.closeFuture.whenComplete { [connectionLimiter] _ in connectionLimiter.left(address) }
            try limitReading(channel)
            let gate = InboundGate(buffered: buffered)
            try furnish(pipeline, gate)
            let connection = HTTPConnectionHandler(
                on: channel, of: connectionLimiter.site(of: address), behind: gate, buffered: buffered,
                responder: responder, dates: dates, logger: logger)
            try pipeline.addHandler(connection)
            let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
            return Connection(channel: channel, isOver: connection.isOver) {
                channel.eventLoop.execute { bound.value.callOff() }
            }
        }
    }

    /// The most that one read of the connection returns, and the system's receive buffer: both are memory that a client
    /// can fill. The system doubles the second. Source: socket(7), SO_RCVBUF.
    private func limitReading(_ channel: any Channel) throws {
        try channel.syncOptions?.setOption(
            ChannelOptions.recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 1_024, maximum: 16_384))
        try channel.syncOptions?.setOption(ChannelOptions.socketOption(.so_rcvbuf), value: 131_072)
    }

    private func furnish(_ pipeline: ChannelPipeline.SynchronousOperations, _ gate: InboundGate) throws {
        if let certificate {
            try pipeline.addHandlers(PlaintextOnTLSHandler(), NIOSSLServerHandler(context: certificate.context))
        }
        let parser = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: heads.limits)
        // The parser consumes all it is given, unless it has stopped; then it is given nothing. The limit enforces
        // that.
        let decoder = ByteToMessageHandler(parser, maximumBufferSize: 2 * heads.bytesMax)
        try pipeline.addHandlers(
            gate, decoder, HTTP1Codec(isSecure: certificate != nil), ConnectionTimeouts(timeouts))
    }

    func handle(value connection: Connection, logger: Logger) async {
        guard open.enter(connection.isOver, connection.callOff) else { return }
        await open.waitForAll()
    }
}

/// The open connections of a listener. One task waits for all of them: a task for each took 1.7 KiB.
final class OpenConnections: Sendable {
    private struct State {
        var callOffs: [Int: @Sendable () -> Void] = [:]
        var count = 0
        var isAwaited = false
        var isCalledOff = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Returns whether the caller has to wait for all: nobody does yet.
    func enter(_ isOver: EventLoopFuture<Void>, _ callOff: @escaping @Sendable () -> Void) -> Bool {
        let (number, isFirst, isCalledOff) = state.withLock { state in
            state.count += 1
            state.callOffs[state.count] = callOff
            defer { state.isAwaited = true }
            return (state.count, !state.isAwaited, state.isCalledOff)
        }
        isOver.whenComplete { _ in self.left(number) }
        if isCalledOff { callOff() }
        return isFirst
    }

    /// Returns when none is open. A cancelled task ends all of them, even during a request.
    func waitForAll() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiter = continuation }
                endIfEmpty()
            }
        } onCancel: {
            let callOffs = state.withLock { state in
                state.isCalledOff = true
                return Array(state.callOffs.values)
            }
            for callOff in callOffs { callOff() }
        }
    }

    private func left(_ number: Int) {
        state.withLock { _ = $0.callOffs.removeValue(forKey: number) }
        endIfEmpty()
    }

    private func endIfEmpty() {
        let waiter = state.withLock { state in
            guard state.callOffs.isEmpty, state.waiter != nil else { return CheckedContinuation<Void, Never>?.none }
            defer { (state.waiter, state.isAwaited) = (nil, false) }
            return state.waiter
        }
        waiter?.resume()
    }
}

extension HeadConfiguration {
    fileprivate var limits: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = bytesMax
        limits.maxHeaderListSize = bytesMax
        limits.maxHeaderFieldCount = countMax
        return limits
    }
}

/// The `Date` of a response, formatted once a second. Source: RFC 9110 §5.6.7.
final class HTTPDates: Sendable {
    private let last = Mutex((second: 0, text: ""))

    var now: String {
        let second = time(nil)
        return last.withLock { last in
            if last.second != second { last = (second, Self.text(second)) }
            return last.text
        }
    }

    /// The names are English as long as no code sets a locale, and none does.
    static func text(_ second: Int) -> String {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Waits until every listener is open, and reports that once.
///
/// A service of its own, since a listener accepts no connection before its callback on opening has returned: a client
/// that is told of it may call the server at once. See `OperationTests`, "a caller that is told that the server serves
/// is served at once".
struct ListenerGroup: Service {
    private let openings: AsyncStream<(name: String, address: String)>
    private let continuation: AsyncStream<(name: String, address: String)>.Continuation
    private let count: Int
    private let onAllOpen: @Sendable ([String: String]) async -> Void

    init(count: Int, onAllOpen: @escaping @Sendable ([String: String]) async -> Void) {
        (openings, continuation) = AsyncStream.makeStream(of: (name: String, address: String).self)
        self.count = count
        self.onAllOpen = onAllOpen
    }

    func opened(_ name: String, _ address: String) { continuation.yield((name, address)) }

    func run() async {
        await cancelWhenGracefulShutdown {
            var open: [String: String] = [:]
            for await (name, address) in openings {
                open[name] = address
                if open.count == count { return await onAllOpen(open) }
            }
        }
    }
}
