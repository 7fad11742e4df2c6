import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// One HTTP/2 connection that takes batches of requests and returns their answers.
///
/// A batch costs one hop to the event loop and one continuation, whatever its size. Every wait has a deadline: no
/// behaviour of the peer delays a caller beyond it.
public final class HTTP2Connection: Sendable {
    /// The server's address, for logs.
    public let remoteAddress: String
    private let channel: any Channel
    private let handler: NIOLoopBound<HTTP2Handler>
    private let authority: [UInt8]
    private let gauge: LoadGauge
    private let nextID = Atomic<UInt64>(0)

    init(channel: any Channel, handler: HTTP2Handler, authority: String, gauge: LoadGauge) {
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.authority = Array(authority.utf8)
        self.gauge = gauge
        remoteAddress = channel.remoteAddress.map { "\($0)" } ?? "unknown"
    }

    /// Requests written and unanswered, and requests that wait for a stream.
    public var load: Int { gauge.load }

    /// Sends a batch and returns its answers in order.
    ///
    /// - Parameters:
    ///   - urgent: its requests go before all waiting requests that are not.
    ///   - deadline: counted from this call, for waiting, writing and the answer. What is then unwritten is
    ///     `unprocessed`, what is unanswered is `unknown`. Cancelling the task has the same effect at once.
    ///   - silence: the same when for so long no answer has come; nil waits for the deadline.
    public func send(
        _ batch: HTTP2Batch, urgent: Bool = false, deadline: Duration, silence: Duration? = nil
    ) async -> HTTP2Answers {
        let id = nextID.add(1, ordering: .relaxed).newValue
        let now = NIODeadline.now().uptimeNanoseconds
        let lapsesAt = now + deadline.nanoseconds
        let cancellation = Cancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                channel.eventLoop.execute { [authority, handler] in
                    let job = BatchJob(
                        id: id, batch: batch, authority: authority, isUrgent: urgent, lapsesAt: lapsesAt,
                        silence: silence.map { SilenceClock(most: $0.nanoseconds, now: now) } ?? SilenceClock()
                    ) { continuation.resume(returning: $0) }
                    handler.value.send(job)
                    // The task may have been cancelled before the job was enqueued.
                    if cancellation.isAsked { handler.value.cancel(id) }
                }
            }
        } onCancel: {
            cancellation.ask()
            channel.eventLoop.execute { [handler] in handler.value.cancel(id) }
        }
    }

    func whenClosed(_ act: @escaping @Sendable () -> Void) { channel.closeFuture.whenComplete { _ in act() } }

    /// Writes no more requests, waits for the answers that are due, and closes. What is unanswered after `deadline`
    /// is `unknown`.
    public func close(within deadline: Duration) async {
        drain(.closed, within: deadline)
        try? await channel.closeFuture.get()
    }

    /// Begins to close as ``close(within:)`` does, without waiting for the end.
    func drain(_ reason: HTTP2Ending, within deadline: Duration) {
        let amount = TimeAmount.nanoseconds(Int64(clamping: deadline.nanoseconds))
        channel.eventLoop.execute { [handler, channel] in
            handler.value.drain(reason)
            let last = channel.eventLoop.scheduleTask(in: amount) { handler.value.end(reason) }
            channel.closeFuture.whenComplete { _ in last.cancel() }
        }
    }
}

/// The load of a connection, written by its event loop and read by anyone.
final class LoadGauge: Sendable {
    private let value = Atomic(0)

    var load: Int { value.load(ordering: .relaxed) }
    func set(_ load: Int) { value.store(load, ordering: .relaxed) }
}

/// Tells when requests have waited long enough without any answer. Times in nanoseconds.
package struct SilenceClock {
    private let most: UInt64
    private var heardAt: UInt64
    private var heard = 0

    /// Never loses patience.
    package init() { self.init(most: .max, now: 0) }

    /// - Parameter most: the longest silence.
    package init(most: UInt64, now: UInt64) {
        self.most = most
        heardAt = now
    }

    /// Notes how many answers have come by now, and returns whether the last of them is too long ago.
    ///
    /// - Parameter waits: false while nothing is waited for, which is no silence.
    package mutating func isTooLong(answers: Int, waits: Bool = true, at now: UInt64) -> Bool {
        if answers != heard || !waits {
            heard = answers
            heardAt = max(heardAt, now)
        }
        return now - min(now, heardAt) >= most
    }
}
