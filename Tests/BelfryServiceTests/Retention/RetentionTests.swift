import BelfryService
import Testing

@Suite struct RetentionTests {
    private let now = Instant(milliseconds: 1_700_000_000_000)
    private func ago(_ days: Int) -> Instant { now + .seconds(-86_400 * days) }

    @Test func `an item expires after its end, if it has one`() {
        let retention = Retention(answers: .seconds(3 * 86_400), pushes: .seconds(5 * 86_400), audit: nil)
        #expect(retention.bound(of: .answers, at: now) == ago(3))
        #expect(retention.bound(of: .pushes, at: now) == ago(5))
        #expect(retention.bound(of: .audit, at: now) == nil)
        #expect(retention.bound(of: .idempotency, at: now) == ago(1))
    }

    @Test func `answers outlive a push round the world`() {
        let retention = Retention(answers: .seconds(86_400), pushes: .seconds(86_400))
        for kind in [Retention.Kind.answers, .pushes] {
            #expect(retention.bound(of: kind, at: now).map { now - $0 > LocalDelivery.spread } == true)
        }
    }

    @Test(arguments: [nil, 9] as [Int?])
    func `no answer outlives its push`(days: Int?) {
        let retention = Retention(answers: days.map { .seconds($0 * 86_400) }, pushes: .seconds(5 * 86_400))
        #expect(retention.bound(of: .answers, at: now) == ago(5))
    }
}
