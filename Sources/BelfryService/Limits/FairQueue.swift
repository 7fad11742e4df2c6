import Synchronization

/// The error for a party that has the most waiting requests that it may have.
package struct TurnShareExceeded: Error {}

/// Makes callers wait for their turn, by rules such as `FairTurns`. A cancelled task leaves the queue at once.
package final class FairQueue<Rules: TurnRules>: Sendable {
    /// The end of a wait.
    private enum Ending { case served, displaced, left }

    private struct State {
        var turns: Rules
        var sleepers: [Int: CheckedContinuation<Ending, Never>] = [:]
        /// Tickets whose waiting ended before their caller waited.
        var early: [Int: Ending] = [:]

        mutating func wake(_ ticket: Int, _ ending: Ending) -> CheckedContinuation<Ending, Never>? {
            if let sleeper = sleepers.removeValue(forKey: ticket) { return sleeper }
            early[ticket] = ending
            return nil
        }
    }

    private let state: Mutex<State>

    package init(_ rules: Rules) { state = Mutex(State(turns: rules)) }

    package var waitingCount: Int { state.withLock { $0.turns.waitingCount } }

    /// Runs `body` when it is the party's turn. Throws `StoreError.overloaded` when too many wait, and `TurnShareExceeded` when too
    /// many of the party do.
    package func run<Value>(for party: Rules.Party, _ body: () async throws -> Value) async throws -> Value {
        let ticket = try await take(party)
        defer { pass(on: ticket) }
        try Task.checkCancellation()
        return try await body()
    }

    private func take(_ party: Rules.Party) async throws -> Int {
        let (arrival, displaced) = state.withLock { state in
            let arrival = state.turns.arrive(party)
            guard case .waits(_, let displaced?) = arrival else {
                return (arrival, CheckedContinuation<Ending, Never>?.none)
            }
            return (arrival, state.wake(displaced, .displaced))
        }
        displaced?.resume(returning: .displaced)
        switch arrival {
        case .served(let ticket): return ticket
        case .turnedAway: throw StoreError.overloaded(retryAfter: .seconds(1))
        case .overShare: throw TurnShareExceeded()
        case .waits(let ticket, _):
            switch await wait(for: ticket) {
            case .served: return ticket
            case .displaced: throw StoreError.overloaded(retryAfter: .seconds(1))
            case .left: throw CancellationError()
            }
        }
    }

    private func wait(for ticket: Int) async -> Ending {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Ending? in
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
        let sleeper = state.withLock { state -> CheckedContinuation<Ending, Never>? in
            guard state.turns.leave(ticket) else { return nil }
            return state.wake(ticket, .left)
        }
        sleeper?.resume(returning: .left)
    }

    private func pass(on ticket: Int) {
        let sleepers = state.withLock { state in
            state.turns.finish(ticket).compactMap { state.wake($0, .served) }
        }
        for sleeper in sleepers { sleeper.resume(returning: .served) }
    }
}
