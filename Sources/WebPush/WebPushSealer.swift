import NIOCore
import NIOPosix

/// Encrypts and signs on threads of its own, one for each core: a message costs as much as twenty requests, and an event loop, or
/// a thread that tasks share, would hold others up meanwhile.
enum WebPushSealer {
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: System.coreCount)
        threads.start()
        return threads
    }()

    /// Messages made in one step. While one part is being sent the next is being made.
    static let partSize = 64

    /// Does something on one of the threads; nil when the process ends.
    static func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
        try? await threads.runIfActive(work)
    }
}
