import BelfryService
import Metrics
import NIOCore
import Synchronization

/// Holds back received bytes while requests wait for their responses, and passes on the rest in small slices.
///
/// The parser consumes all that it is given, and 64 KiB of the shortest requests become some 10 MB when parsed. So it
/// is given a slice at a time, and nothing more is read from the connection before the last slice of a read is
/// consumed.
final class InboundGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = Never

    enum Mode { case open, held, discarding }

    /// Fired as soon as the client has closed its side; `ChannelEvent.inputClosed` follows after the bytes that are
    /// held back.
    struct ClientFinished: Sendable {}

    /// The most bytes that are parsed before the next check whether more are wanted: some fifty of the shortest
    /// requests.
    static let sliceBytes = 1_024

    private let buffered: BufferedBytes
    private var mode = Mode.open
    private var pending = ByteBuffer()
    private var isPassing = false
    private var isReadWanted = false
    private var isInputClosed = false
    private var context: ChannelHandlerContext?
    /// The bytes of this connection that are counted in `buffered`.
    private var counted = 0

    init(buffered: BufferedBytes) { self.buffered = buffered }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        pending = ByteBuffer()
        count()
    }

    func turn(to mode: Mode) {
        guard mode != self.mode else { return }
        self.mode = mode
        if mode != .held { pass() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard mode != .discarding else { return }
        pending.append(unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if mode == .held { count() } else { pass() }
    }

    func read(context: ChannelHandlerContext) {
        isReadWanted = true
        resumeReading()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        isInputClosed = true
        context.fireUserInboundEventTriggered(ClientFinished())
        tellOfTheEnd()
    }

    /// Passes on what is wanted. The end of a read is passed on even when nothing was left, since the last slice may
    /// have ended in the middle of a request.
    private func pass() {
        guard !isPassing, let context else { return }
        isPassing = true
        repeat {
            while mode == .open, let slice = nextSlice() { context.fireChannelRead(wrapInboundOut(slice)) }
            context.fireChannelReadComplete()
        } while mode == .open && pending.readableBytes > 0
        isPassing = false
        if mode == .discarding || pending.readableBytes == 0 { pending = ByteBuffer() }
        count()
        tellOfTheEnd()
        resumeReading()
    }

    private func nextSlice() -> ByteBuffer? {
        let isHoldingBack = !PlantedFaults.contains("back-pressure")
        let count = isHoldingBack ? min(pending.readableBytes, Self.sliceBytes) : pending.readableBytes
        return count > 0 ? pending.readSlice(length: count) : nil
    }

    private func tellOfTheEnd() {
        guard isInputClosed, pending.readableBytes == 0, !isPassing else { return }
        isInputClosed = false
        context?.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// One read ahead: during a request the connection stays ready to read, which costs no system call, and reports
    /// when the client disconnects.
    private func resumeReading() {
        guard isReadWanted, pending.readableBytes == 0, !isPassing else { return }
        isReadWanted = false
        context?.read()
    }

    private func count() {
        buffered.inbound(changedBy: pending.readableBytes - counted)
        counted = pending.readableBytes
    }
}

/// Counts the bytes that all connections of a listener hold: waiting requests, and responses that clients have not
/// read.
///
/// One response may be large, and a client may open many connections and read none. So the total is limited, and half of it for
/// the connections of one site: beyond it, a connection whose unread bytes grow is closed.
final class BufferedBytes: Sendable {
    private let outboundMax: Int
    private let inbound = Atomic(0)
    private let outbound = Atomic(0)
    private let outboundBySite = Mutex<[NetworkAddress: Int]>([:])
    private let inboundMeter: Meter
    private let outboundMeter: Meter
    private let closed: Counter

    /// - Parameter outboundMax: in bytes.
    init(listener: String, outboundMax: Int) {
        self.outboundMax = outboundMax
        inboundMeter = Metric.bufferedBytes(listener, "in")
        outboundMeter = Metric.bufferedBytes(listener, "out")
        closed = Metric.refusals(listener, "unread")
    }

    func inbound(changedBy bytes: Int) {
        guard bytes != 0 else { return }
        inboundMeter.set(inbound.add(bytes, ordering: .relaxed).newValue)
    }

    /// Returns whether a connection that holds more than before has to be closed.
    func outbound(changedBy bytes: Int, of site: NetworkAddress?) -> Bool {
        guard bytes != 0 else { return false }
        let total = outbound.add(bytes, ordering: .relaxed).newValue
        outboundMeter.set(total)
        let ofSite = site.map { site in
            outboundBySite.withLock { held in
                let sum = held[site, default: 0] + bytes
                held[site] = sum == 0 ? nil : sum
                return sum
            }
        }
        guard bytes > 0, total > outboundMax || ofSite ?? 0 > outboundMax / 2 else { return false }
        closed.increment()
        return true
    }
}
