import Synchronization

/// Records events in their order.
final class Log: Sendable {
    private let held = Mutex<[Int64]>([])

    var entries: [Int64] { held.withLock { $0 } }

    func add(_ entry: Int64) { held.withLock { $0.append(entry) } }
}
