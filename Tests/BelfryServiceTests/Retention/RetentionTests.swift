import BelfryService
import Testing

@Suite struct RetentionTests {
    private let now = Instant(milliseconds: 1_700_000_000_000)
    private func ago(_ days: Int) -> Instant { now + .seconds(-86_400 * days) }

    @Test func `an item expires after its end, if it has one`() {
        let retention = Retention(answers: .seconds(86_400), pushes: .seconds(5 * 86_400), audit: nil)
        #expect(retention.bound(of: .answers, at: now) == ago(1))
        #expect(retention.bound(of: .pushes, at: now) == ago(5))
        #expect(retention.bound(of: .audit, at: now) == nil)
        #expect(retention.bound(of: .idempotency, at: now) == ago(1))
    }

    @Test(arguments: [nil, 9] as [Int?])
    func `no answer outlives its push`(days: Int?) {
        let retention = Retention(answers: days.map { .seconds($0 * 86_400) }, pushes: .seconds(5 * 86_400))
        #expect(retention.bound(of: .answers, at: now) == ago(5))
    }
}
