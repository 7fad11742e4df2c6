import Synchronization

/// Counts the occasions that match a rule and decides at which of them it applies. Shared by all connections.
final class MatchCounter: Sendable {
    private let after: Int
    private let every: Int
    private let times: Int?
    private let fitting = Atomic<Int>(0)
    private let happened = Atomic<Int>(0)

    /// - Parameters:
    ///   - after: how many matches are skipped first.
    ///   - every: of the others, each n-th counts.
    ///   - times: how often the rule applies; nil for no limit.
    init(after: Int?, every: Int?, times: Int?) {
        self.after = after ?? 0
        self.every = every ?? 1
        self.times = times
    }

    var timesHappened: Int { happened.load(ordering: .relaxed) }

    /// Whether the rule applies at a matching occasion. Counts the occasion.
    func matches() -> Bool {
        let number = fitting.add(1, ordering: .relaxed).newValue - after
        guard number > 0, number.isMultiple(of: every) else { return false }
        guard let times else {
            happened.add(1, ordering: .relaxed)
            return true
        }
        if happened.add(1, ordering: .relaxed).oldValue < times { return true }
        happened.subtract(1, ordering: .relaxed)
        return false
    }
}
