import NIOCore

/// Looks certificates up for handshakes, which wait for it on their event loops.
final class SenderChecks: Sendable {
    private final class Check: Sendable {
        let certificate: [UInt8]
        let promise: EventLoopPromise<Bool>

        init(certificate: [UInt8], promise: EventLoopPromise<Bool>) {
            self.certificate = certificate
            self.promise = promise
        }

        /// A check that is dropped has found nothing; what was answered stays as it is.
        deinit { promise.succeed(false) }
    }

    private let senders: GatewaySenders
    private let checks: AsyncStream<Check>
    private let asked: AsyncStream<Check>.Continuation

    /// Look-ups at a time.
    private static let widthMax = 32
    /// The most checks that wait. Beyond them a certificate counts as unknown.
    private static let waitingMax = 1_024

    init(_ senders: GatewaySenders) {
        self.senders = senders
        (checks, asked) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.waitingMax))
    }

    /// Whether a certificate in DER chooses a platform; false where that cannot be found out.
    func isKnown(_ certificate: [UInt8], on eventLoop: any EventLoop) -> EventLoopFuture<Bool> {
        let promise = eventLoop.makePromise(of: Bool.self)
        asked.yield(Check(certificate: certificate, promise: promise))
        return promise.futureResult
    }

    /// Answers until no more are asked for.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await check in checks {
                if running == Self.widthMax { _ = await group.next() } else { running += 1 }
                group.addTask { [senders] in
                    let platform = try? await senders.platform(of: check.certificate)
                    check.promise.succeed(platform != nil)
                }
            }
        }
    }

    func finish() { asked.finish() }
}
