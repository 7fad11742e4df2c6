import Metrics
import NIOCore
import ServiceLifecycle

/// Measures once a second how late each event loop runs a due task: everything on the loop waits that long.
struct EventLoopProbe: Service {
    let groups: [any EventLoopGroup]

    func run() async {
        let probes = groups.flatMap { Array($0.makeIterator()) }.enumerated().map { LoopProbe(of: $1, number: $0) }
        for probe in probes { probe.start() }
        try? await gracefulShutdown()
        for probe in probes { probe.stop() }
    }
}

/// The probe of one loop, which alone accesses its state.
private final class LoopProbe: Sendable {
    private let loop: any EventLoop
    private let lag: Metrics.Timer
    private let scheduled: NIOLoopBoundBox<Scheduled<Void>?>

    private static let pause = TimeAmount.seconds(1)

    init(of loop: any EventLoop, number: Int) {
        self.loop = loop
        lag = Metric.eventLoopLag(number)
        scheduled = .makeEmptyBox(eventLoop: loop)
    }

    func start() { loop.execute { self.arm() } }

    func stop() { loop.execute { self.scheduled.value?.cancel() } }

    private func arm() {
        let dueAt = loop.now + Self.pause
        scheduled.value = loop.scheduleTask(deadline: dueAt) {
            self.lag.recordNanoseconds((self.loop.now - dueAt).nanoseconds)
            self.arm()
        }
    }
}
