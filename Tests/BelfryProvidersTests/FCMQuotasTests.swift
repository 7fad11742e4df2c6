import BelfryCore
import FCM
import Testing

@testable import BelfryProviders

@Suite struct FCMQuotasTests {
    @Test func `platforms of a project share its quota, and so do nodes, those that come later too`() {
        let quotas = FCMQuotas()
        let bakery = quotas.quota(of: "bakery", perMinute: 600_000)
        #expect(quotas.quota(of: "bakery", perMinute: 600_000) === bakery)
        // What leaves within a second: a second's worth that was saved, and one that comes.
        #expect(bakery.room == 20_000)
        quotas.take(NodeShare(nodes: 4))
        #expect(bakery.room == 5_000)
        #expect(quotas.quota(of: "butcher", perMinute: 600_000).room == 5_000)
        quotas.take(.whole)
        #expect(10_000 + 2_500...20_000 ~= bakery.room)
    }
}
