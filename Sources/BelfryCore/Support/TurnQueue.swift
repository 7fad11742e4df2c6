import Synchronization

/// Makes callers wait for their turn, by `FairTurns`. A cancelled task leaves the queue at once. For stores.
package final class TurnQueue<Party: Hashable & Sendable>: Sendable {
    private struct State {
        var turns: FairTurns<Party>
        var sleepers: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// Tickets that were called or left before their caller waited.
        var early: [Int: Bool] = [:]

        mutating func wake(_ ticket: Int, isServed: Bool) -> CheckedContinuation<Bool, Never>? {
            if let sleeper = sleepers.removeValue(forKey: ticket) { return sleeper }
            early[ticket] = isServed
            return nil
        }
    }

    private let state: Mutex<State>

    package init(places: Int, waitingMax: Int) {
        state = Mutex(State(turns: FairTurns(places: places, waitingMax: waitingMax)))
    }

    package var waitingCount: Int { state.withLock { $0.turns.waitingCount } }

    /// Runs `body` when it is the party's turn. Throws `StoreError.overloaded` when too many wait.
    package func run<Value>(for party: Party, _ body: () async throws -> Value) async throws -> Value {
        let ticket = try await take(party)
        defer { pass(on: ticket) }
        try Task.checkCancellation()
        return try await body()
    }

    private func take(_ party: Party) async throws -> Int {
        switch state.withLock({ $0.turns.arrive(party) }) {
        case .served(let ticket): return ticket
        case .turnedAway: throw StoreError.overloaded(retryAfter: .seconds(1))
        case .waits(let ticket):
            guard await wait(for: ticket) else { throw CancellationError() }
            return ticket
        }
    }

    /// Returns false when the caller was cancelled first.
    private func wait(for ticket: Int) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Bool? in
                    if let early = state.early.removeValue(forKey: ticket) { return early }
                    state.sleepers[ticket] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    private func leave(_ ticket: Int) {
        let sleeper = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.turns.leave(ticket) else { return nil }
            return state.wake(ticket, isServed: false)
        }
        sleeper?.resume(returning: false)
    }

    private func pass(on ticket: Int) {
        let sleepers = state.withLock { state in
            state.turns.finish(ticket).compactMap { state.wake($0, isServed: true) }
        }
        for sleeper in sleepers { sleeper.resume(returning: true) }
    }
}
