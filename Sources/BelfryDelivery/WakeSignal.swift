import BelfryCore
import Synchronization

/// Wakes one waiting task. A signal that no task waits for is kept for the next that waits; further ones are the same
/// signal.
final class WakeSignal: Sendable {
    private struct State {
        var isRaised = false
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Whether the work is to end once what was begun is done.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func raise() {
        wake { state in state.isRaised = true }
    }

    /// Signals for the last time: from now on no task waits.
    func close() {
        wake { state in state.isClosed = true }
    }

    /// Returns at the next signal, at once if one is kept, it is closed or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard !state.isRaised, !state.isClosed, !Task.isCancelled else {
                        state.isRaised = false
                        return true
                    }
                    precondition(state.waiter == nil, "a signal wakes one task")
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            wake { _ in }
        }
    }

    /// As `wait()`, and signals by itself when the time is over.
    func wait(atMost limit: Duration, by clock: any WallClock) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                do { try await clock.sleep(for: limit) } catch { return }
                self.raise()
            }
            await wait()
            group.cancelAll()
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            guard let waiter = state.waiter else { return CheckedContinuation<Void, Never>?.none }
            state.waiter = nil
            state.isRaised = false
            return waiter
        }
        waiter?.resume()
    }
}
