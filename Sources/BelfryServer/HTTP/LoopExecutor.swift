import NIOCore

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
