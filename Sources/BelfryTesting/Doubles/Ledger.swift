package import BelfryService
import Synchronization

/// A record, unaffected by crashes, of the devices that were notified and their provider's answers.
package final class Ledger: Sendable {
    package struct Entry: Sendable {
        /// Every answer of the provider, in order.
        package var outcomes: [Outcome] = []
        /// The time of each answer.
        package var times: [Instant] = []
        /// How often the device was notified.
        package var told = 0

        /// Whether the provider was asked again before a time that it had named.
        var isHurried: Bool {
            outcomes.indices.dropLast().contains { times[$0 + 1] < times[$0] + outcomes[$0].wait }
        }

        /// The longest that the provider asked for.
        var longestWait: Duration { outcomes.map(\.wait).max() ?? .zero }
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

    /// The push of each notification, in order.
    package var order: [Key<Push>] { state.withLock { $0.order } }

    /// All answers of the provider.
    package var totalAttempts: Int { state.withLock { $0.entries.values.reduce(0) { $0 + $1.outcomes.count } } }

    func attempts(of push: Key<Push>, to device: Key<Device>) -> Int { self[push, device].outcomes.count }

    func write(_ outcome: Outcome, isTold: Bool, push: Key<Push>, device: Key<Device>, at now: Instant) {
        state.withLock { state in
            let line = Line(push: push, device: device)
            state.entries[line, default: Entry()].outcomes.append(outcome)
            state.entries[line, default: Entry()].times.append(now)
            guard isTold else { return }
            state.entries[line, default: Entry()].told += 1
            state.order.append(push)
        }
    }
}

extension Outcome {
    fileprivate var wait: Duration {
        switch self {
        case .throttled(let wait?, _), .failed(let wait?, _): wait
        default: .zero
        }
    }
}
