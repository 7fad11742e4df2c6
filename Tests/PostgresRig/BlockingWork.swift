import Foundation
import Synchronization

/// Runs work that blocks a thread on two threads of its own, away from those of tasks.
///
/// They never end. A server goes with the thread that started it (`PR_SET_PDEATHSIG`), and is to go with the process.
enum BlockingWork {
    private static let waiting = Mutex<[@Sendable () -> Void]>([])
    private static let count = DispatchSemaphore(value: 0)

    private static let threads: Void = {
        for _ in 0..<2 {
            Thread.detachNewThread {
                while true {
                    count.wait()
                    waiting.withLock { $0.removeFirst() }()
                }
            }
        }
    }()

    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        _ = threads
        return try await withCheckedThrowingContinuation { continuation in
            waiting.withLock { $0.append { continuation.resume(with: Result { try work() }) } }
            count.signal()
        }
    }
}
