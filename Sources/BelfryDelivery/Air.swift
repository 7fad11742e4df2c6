import BelfryCore
import Synchronization

/// Counts the pages in the air, by platform.
final class Air: Sendable {
    private let traffic: Mutex<AirTraffic>

    init(_ traffic: AirTraffic) { self.traffic = Mutex(traffic) }

    /// What may be claimed now; nil for nothing.
    func share(of pace: AirTraffic.Pace) -> AirTraffic.Share? { traffic.withLock { $0.share(of: pace) } }

    var pages: Int { traffic.withLock { $0.pagesInAir } }

    func take(_ page: Page) {
        traffic.withLock { $0.take(page.platformKey) }
        Metric.pageTaken()
    }

    func land(_ page: Page, after stay: Duration) {
        traffic.withLock { $0.land(page.platformKey, after: stay) }
        Metric.pageLanded()
    }
}
