import Synchronization

/// Waits until every listener is open, and says so once.
final class Doorway: Sendable {
    private let open = Mutex<[String: String]>([:])
    private let count: Int
    private let onAllOpen: @Sendable ([String: String]) async -> Void

    init(count: Int, onAllOpen: @escaping @Sendable ([String: String]) async -> Void) {
        self.count = count
        self.onAllOpen = onAllOpen
    }

    func opened(_ name: String, _ address: String) async {
        let all = open.withLock { open -> [String: String]? in
            open[name] = address
            return open.count == count ? open : nil
        }
        if let all { await onAllOpen(all) }
    }
}
