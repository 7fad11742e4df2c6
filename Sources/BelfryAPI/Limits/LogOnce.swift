import Synchronization

/// Tells what happened before, so that the log has a line for each of many like events.
///
/// It remembers a bounded number: then it forgets all, and the log gets a line again.
final class LogOnce<Value: Hashable & Sendable>: Sendable {
    private let seen = Mutex<Set<Value>>([])
    private let countMax: Int

    init(countMax: Int = 4_096) { self.countMax = countMax }

    /// Whether it is the first time.
    func isFirst(_ value: Value) -> Bool {
        seen.withLock { seen in
            if seen.count >= countMax { seen.removeAll() }
            return seen.insert(value).inserted
        }
    }
}
