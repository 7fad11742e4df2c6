import Foundation

/// Runs each job on a thread of its own, so that an attack may block on its sockets and starve no other test.
///
/// Child tasks inherit it. Jobs are few: an attack suspends only to wait for its callers.
final class BlockingThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
