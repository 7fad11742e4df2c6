import Synchronization

/// Runs one job at a time on the calling thread, chosen by a seed, so that a run can be repeated exactly.
///
/// Give it to the root: `Task(executorPreference: executor) { ... }`; children inherit it. Not for code that calls
/// `Task.yield()` or `Task.detached`: both leave to the global pool. `pause()` is the yield that stays.
package final class SeededExecutor: TaskExecutor {
    private enum Item {
        case job(UnownedJob)
        case pause(UnsafeContinuation<Void, Never>)
    }

    private struct State {
        var items: [Item] = []
        var random: SplitMix64
        var jobsRun = 0
        /// A digest of the choices: two runs with the same digest took the same way.
        var digest: UInt64 = 0

        mutating func pick() -> Item? {
            guard !items.isEmpty else { return nil }
            let index = random.below(items.count)
            items.swapAt(index, items.count - 1)
            jobsRun += 1
            digest = (digest ^ UInt64(items.count) << 32 ^ UInt64(index)) &* 0x100_0000_01B3
            return items.removeLast()
        }
    }

    private let state: Mutex<State>

    package init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

    package var jobsRun: Int { state.withLock { $0.jobsRun } }
    package var digest: UInt64 { state.withLock { $0.digest } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.items.append(.job(job)) }
    }

    /// Lets other jobs run first.
    package func pause() async {
        await withUnsafeContinuation { continuation in
            state.withLock { $0.items.append(.pause(continuation)) }
        }
    }

    /// Runs one job; false when none is runnable.
    package func runOne() -> Bool {
        switch state.withLock({ $0.pick() }) {
        case nil: return false
        case .job(let job)?: job.runSynchronously(on: asUnownedTaskExecutor())
        case .pause(let continuation)?: continuation.resume()
        }
        return true
    }
}
