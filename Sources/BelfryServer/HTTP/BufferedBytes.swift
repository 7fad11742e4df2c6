import Metrics
import Synchronization

/// Counts the bytes that all connections of a listener hold: waiting requests, and responses that clients have not
/// read.
///
/// One response may be large, and a client may open many connections and read none. So the total is limited: beyond it,
/// a connection whose unread bytes grow is closed.
final class BufferedBytes: Sendable {
    private let outboundMax: Int
    private let inbound = Atomic(0)
    private let outbound = Atomic(0)
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
    func outbound(changedBy bytes: Int) -> Bool {
        guard bytes != 0 else { return false }
        let total = outbound.add(bytes, ordering: .relaxed).newValue
        outboundMeter.set(total)
        guard bytes > 0, total > outboundMax else { return false }
        closed.increment()
        return true
    }
}
