import BelfryService
import FCM
import Testing

@testable import BelfryProviders

@Suite struct FCMQuotasTests {
    @Test func `platforms and nodes of a project share its quota`() {
        let quotas = FCMQuotas()
        let system = quotas.quota(of: "bakery", perMinute: 600_000)
        #expect(quotas.quota(of: "bakery", perMinute: 600_000) === system)
        // What leaves within a second: a second's worth that was saved, and one that comes.
        #expect(system.room == 20_000)
        quotas.take(NodeShare(nodes: 4))
        #expect(system.room == 5_000)
        #expect(quotas.quota(of: "butcher", perMinute: 600_000).room == 5_000)
        quotas.take(.whole)
        #expect(10_000 + 2_500...20_000 ~= system.room)
    }
}
