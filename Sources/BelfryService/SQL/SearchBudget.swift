import Synchronization

/// The time limit of a search, and whether its caller still waits for it. Checked by operations that scan many rows.
package final class SearchBudget: Sendable {
    private let end: ContinuousClock.Instant
    private let wasCancelled = Atomic(false)

    /// The longest that one search may take.
    package static let longest = Duration.seconds(5)

    /// - Parameter longest: counted from now.
    package init(_ longest: Duration = SearchBudget.longest) { end = .now + longest }

    package func cancel() { wasCancelled.store(true, ordering: .relaxed) }

    /// Whether the search should stop.
    package var isSpent: Bool { wasCancelled.load(ordering: .relaxed) || ContinuousClock.now >= end }

    /// Throws `CancellationError` when the caller has left, and `InvalidInput` when the time is up.
    package func check() throws {
        if wasCancelled.load(ordering: .relaxed) { throw CancellationError() }
        guard ContinuousClock.now < end else {
            throw InvalidInput(
                field: "search",
                "takes more than \(Self.longest.components.seconds) s; "
                    + "give more of `q`, fewer filters, or a page that is nearer")
        }
    }
}

/// The time that a caller waits for rows to be looked at, from the first few on: asking an index what to look at does not count.
struct SearchPause {
    /// nil for all the time that the budget has.
    private let time: Duration?
    private var end: ContinuousClock.Instant?

    init(_ time: Duration?) { self.time = time }

    mutating func isOver() -> Bool {
        guard let time else { return false }
        let now = ContinuousClock.now
        let end = end ?? now + time
        self.end = end
        return now >= end
    }
}
