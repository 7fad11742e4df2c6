import Synchronization

/// Wakes one waiting task. A signal with no waiting task is kept for the next one; further signals count as the same.
package final class WakeSignal: Sendable {
    private struct State {
        var isRaised = false
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Whether the work should end once what was begun is finished.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func raise() {
        wake { state in state.isRaised = true }
    }

    /// Closes the signal; later waits return at once.
    package func close() {
        wake { state in state.isClosed = true }
    }

    /// Returns at the next signal; at once if one is kept, it is closed or the task is cancelled.
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

    /// Like `wait()`, and returns by itself when the time is over.
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
