import BelfryCore
import Synchronization

/// Counts the pages in the air, by platform.
final class Air: Sendable {
    private let counts = Mutex<[Key<Platform>: Int]>([:])

    var pages: [Key<Platform>: Int] { counts.withLock { $0 } }

    func take(_ page: Page) {
        counts.withLock { $0[page.platformKey, default: 0] += 1 }
        Metric.pageTaken()
    }

    func land(_ page: Page) {
        counts.withLock { counts in
            let left = counts[page.platformKey, default: 0] - 1
            counts[page.platformKey] = left > 0 ? left : nil
        }
        Metric.pageLanded()
    }
}
