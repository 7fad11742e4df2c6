package import BelfryService
import Foundation
import Synchronization

/// A clock that stands still until the test moves it; sleepers wake in the order of their times.
package final class ManualClock: WallClock {
    private struct Sleeper {
        let dueAt: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var sleepers: [Int: Sleeper] = [:]
        var count = 0

        /// The next sleeper to wake; of two at the same time, the one that began to sleep first.
        var first: (number: Int, dueAt: Instant)? {
            sleepers.min { ($0.value.dueAt, $0.key) < ($1.value.dueAt, $1.key) }.map { ($0.key, $0.value.dueAt) }
        }
    }

    private let state: Mutex<State>

    package init(at now: Instant = Instant(milliseconds: 1_700_000_000_000)) {
        state = Mutex(State(now: now))
    }

    package var now: Instant { state.withLock { $0.now } }
    package var sleepers: Int { state.withLock { $0.sleepers.count } }
    /// When the next sleeper wakes; nil when no task sleeps.
    package var nextWake: Instant? { state.withLock { $0.first?.dueAt } }

    package func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    state.sleepers[number] = Sleeper(dueAt: state.now + duration, continuation: continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation
                .resume(throwing: CancellationError())
        }
    }

    package func advance(by duration: Duration) { advance(to: now + duration) }

    /// Wakes all sleepers that are due by then, in order, each at its own time. A time in the past changes nothing.
    package func advance(to end: Instant) {
        while let sleeper = wakeNext(by: end) { sleeper.resume() }
        state.withLock { $0.now = max($0.now, end) }
    }

    /// Moves to the next sleeper's time and wakes it; false when no task sleeps.
    package func advanceToNextSleeper() -> Bool {
        guard let sleeper = wakeNext(by: .distantFuture) else { return false }
        sleeper.resume()
        return true
    }

    private func wakeNext(by end: Instant) -> CheckedContinuation<Void, any Error>? {
        state.withLock { state in
            guard let (number, dueAt) = state.first, dueAt <= end else { return nil }
            state.now = max(state.now, dueAt)
            return state.sleepers.removeValue(forKey: number)?.continuation
        }
    }
}
