import HTTP2Client
import Synchronization

/// How many connections are open to all hosts together.
///
/// Devices name hosts, so anyone can name very many that answer nothing: hosts that never answered share one half of
/// the connections, and the other half is for those that did.
final class ConnectionBudget: Sendable {
    private let connectionsMax: Int
    private let state = Mutex(State())

    struct State {
        var open = 0
        /// Open connections to hosts that never answered.
        var strangers = 0
        var onFull: @Sendable (Bool) -> Bool = { _ in false }
    }

    init(connectionsMax: Int) { self.connectionsMax = connectionsMax }

    /// - Parameter makeRoom: asked to have connections closed that nothing stands on; whether there were any. It gets true where
    ///   only those to hosts that never answered help.
    func onFull(_ makeRoom: @escaping @Sendable (Bool) -> Bool) { state.withLock { $0.onFull = makeRoom } }

    fileprivate func take(_ share: HostPermits) -> Bool {
        if tryTake(share) { return true }
        let (makeRoom, strangersOnly) = state.withLock { ($0.onFull, !share.isKnown && $0.strangers >= strangersMax) }
        // What is being closed counts no more, so there is room at once.
        return makeRoom(strangersOnly) && tryTake(share)
    }

    private var strangersMax: Int { max(1, connectionsMax / 2) }

    private func tryTake(_ share: HostPermits) -> Bool {
        state.withLock { state in
            share.held.withLock { held in
                guard state.open < connectionsMax, held.isKnown || state.strangers < strangersMax else { return false }
                state.open += 1
                if !held.isKnown { state.strangers += 1 }
                held.count += 1
                return true
            }
        }
    }

    fileprivate func change(_ share: HostPermits, _ change: (inout State, inout HostPermits.Held) -> Void) {
        state.withLock { state in share.held.withLock { change(&state, &$0) } }
    }
}

/// One host's share of a budget.
final class HostPermits: ConnectionPermits {
    fileprivate struct Held {
        var isKnown = false
        var count = 0
        /// Being closed so that others may connect: given back already.
        var forgiven = 0
    }

    private let budget: ConnectionBudget
    fileprivate let held = Mutex(Held())

    init(_ budget: ConnectionBudget) { self.budget = budget }

    var isHeld: Bool { held.withLock { $0.count > 0 } }
    /// Whether the host has ever answered.
    var isKnown: Bool { held.withLock { $0.isKnown } }

    func take() -> Bool { budget.take(self) }

    func giveBack() {
        budget.change(self) { budget, held in
            guard held.forgiven == 0 else {
                held.forgiven -= 1
                return
            }
            Self.giveBack(1, from: &held, to: &budget)
        }
    }

    /// The host has answered.
    func becomeKnown() {
        guard !held.withLock(\.isKnown) else { return }
        budget.change(self) { budget, held in
            guard !held.isKnown else { return }
            held.isKnown = true
            budget.strangers -= held.count
        }
    }

    /// All connections of the host are about to be closed.
    func forgive() {
        budget.change(self) { budget, held in
            held.forgiven += held.count
            Self.giveBack(held.count, from: &held, to: &budget)
        }
    }

    private static func giveBack(_ count: Int, from held: inout Held, to budget: inout ConnectionBudget.State) {
        held.count -= count
        budget.open -= count
        if !held.isKnown { budget.strangers -= count }
    }
}
