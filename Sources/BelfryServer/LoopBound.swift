import HummingbirdCore
import Logging
import NIOCore

/// A channel whose requests are handled on the event loop that reads and writes it.
///
/// Otherwise each request changes threads three times: to the cooperative pool when it was read, again after each wait,
/// and back to the event loop with its answer; the wake-ups cost more than reading a body. Handlers never block and
/// work in microseconds, so they do not hold up the other connections of the loop.
/// See docs/decisions/0006-what-a-registration-costs.md.
struct LoopBound<Channel: ServerChildChannel>: ServerChildChannel {
    let channel: Channel

    func setup(channel: any NIOCore.Channel, logger: Logger) -> EventLoopFuture<Channel.Value> {
        self.channel.setup(channel: channel, logger: logger)
    }

    func handle(value: Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(loop: value.channel.eventLoop)) {
            await channel.handle(value: value, logger: logger)
        }
    }
}

extension HTTPServerBuilder {
    /// HTTP/1.1, with each connection's requests on its event loop.
    static func loopBound(_ configuration: HTTP1Channel.Configuration) -> HTTPServerBuilder {
        HTTPServerBuilder { LoopBound(channel: HTTP1Channel(responder: $0, configuration: configuration)) }
    }
}

/// Runs the jobs of tasks on an event loop.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
