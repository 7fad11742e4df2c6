package import BelfryService
import Synchronization

/// The whole store in memory: the model that the SQL stores are compared with, and the store that simulations use.
///
/// Simple rather than fast: each method is one change of `Contents` under one lock, so each is a transaction.
package final class MemoryStore: Store {
    private let held: Mutex<Contents>
    let signals = WorkHints()
    let clock: any WallClock
    let quotas: Quotas

    package init(clock: any WallClock, contents: Contents = Contents(), quotas: Quotas = Quotas()) {
        self.clock = clock
        self.quotas = quotas
        held = Mutex(contents)
    }

    /// A copy of the contents.
    package var contents: Contents { transaction { $0 } }

    /// Changes the contents against all rules, to plant a fault.
    package func tamper(_ change: @Sendable (inout Contents) -> Void) { held.withLock { change(&$0) } }

    /// The presently violated invariants of docs/Architecture.md, "What must always hold".
    package func violations() -> [String] { contents.violations }

    package func check() throws {
        let violations = violations()
        guard violations.isEmpty else { throw Violations(found: violations) }
    }

    package func hints(of work: DueWork) -> AsyncStream<Void> { signals.stream(of: work) }

    func transaction<Result: Sendable>(_ body: (inout sending Contents) throws -> sending Result) rethrows -> Result {
        let now = clock.now
        return try held.withLock { contents in
            contents.deleteExpiredTopics(at: now)
            return try body(&contents)
        }
    }
}

/// Violated invariants, a sentence each.
package struct Violations: Error, CustomStringConvertible {
    package let found: [String]

    package init(found: [String]) { self.found = found }

    package var description: String { found.joined(separator: "\n") }
}
