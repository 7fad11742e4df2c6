package import BelfryCore
import Synchronization

/// What devices were told and what their provider said, written down where no crash reaches it.
package final class Ledger: Sendable {
    package struct Entry: Sendable {
        /// Every answer of the provider, the first first.
        package var outcomes: [Outcome] = []
        /// How often the device was told.
        package var told = 0
    }

    private struct Line: Hashable {
        let push: Key<Push>
        let device: Key<Device>
    }

    private struct State {
        var entries: [Line: Entry] = [:]
        var order: [Key<Push>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package subscript(push: Key<Push>, device: Key<Device>) -> Entry {
        state.withLock { $0.entries[Line(push: push, device: device)] ?? Entry() }
    }

    /// The push of each telling, in the order of the tellings.
    package var order: [Key<Push>] { state.withLock { $0.order } }

    func attempts(of push: Key<Push>, to device: Key<Device>) -> Int { self[push, device].outcomes.count }

    func write(_ outcome: Outcome, isTold: Bool, push: Key<Push>, device: Key<Device>) {
        state.withLock { state in
            state.entries[Line(push: push, device: device), default: Entry()].outcomes.append(outcome)
            guard isTold else { return }
            state.entries[Line(push: push, device: device), default: Entry()].told += 1
            state.order.append(push)
        }
    }
}
