import BelfryService
import Testing

@Suite struct SharesTests {
    private let limit = ShareLimit(perCaller: 2, total: 12)

    private func holder(_ application: Int64, tenant: Int64 = 1, key: Int64? = nil) -> ShareHolder {
        ShareHolder(application: Key(application), tenant: Key(tenant), key: key.map { Key($0) })
    }

    @Test func `an application uses its part and leaves others theirs`() {
        var counts = ShareCounts()
        let flood = (0..<10).map { _ in counts.take(1, of: .searches, for: holder(1), under: limit) }
        #expect(flood == [nil, nil] + Array(repeating: .application, count: 8))
        #expect(counts.take(1, of: .searches, for: holder(2, tenant: 2), under: limit) == nil)
        #expect(counts.take(1, of: .exports, for: holder(1), under: limit) == nil, "another share")
    }

    @Test func `a key has its part over all applications`() {
        var counts = ShareCounts()
        let taken = (1...3).map { counts.take(1, of: .streams, for: holder($0, tenant: $0, key: 9), under: limit) }
        #expect(taken == [nil, nil, .key])
    }

    @Test func `a tenant has a quarter, however many applications it has`() {
        var counts = ShareCounts()
        let taken = (1...4).map { counts.take(1, of: .streams, for: holder($0), under: limit) }
        #expect(taken == [nil, nil, nil, .tenant])
        #expect(limit.tenant == 3)
    }

    @Test(arguments: [(1, 1), (4, 32), (32, 32), (64, 32), (1_024, 256)])
    func `a tenant has a quarter, whatever its applications may have`(perCaller: Int, total: Int) {
        let limit = ShareLimit(perCaller: perCaller, total: total)
        #expect(limit.tenant * 4 <= limit.total && limit.tenant >= perCaller && limit.total >= total)
    }

    @Test func `an account has its part over all its customer's applications`() {
        var counts = ShareCounts()
        let taken = (1...3).map { _ in
            counts.take(
                1, of: .uploads, for: ShareHolder(application: nil, tenant: nil, account: Key(5)), under: limit)
        }
        #expect(taken == [nil, nil, .account])
    }

    @Test func `all have no more than there is`() {
        var counts = ShareCounts()
        let taken = (1...13).map { counts.take(1, of: .streams, for: holder($0, tenant: $0), under: limit) }
        #expect(taken == Array(repeating: nil, count: 12) + [.total])
        #expect(counts.total(of: .streams) == 12)
    }

    @Test func `a refusal takes nothing, and returned units are reusable`() {
        var counts = ShareCounts()
        for _ in 0..<2 { _ = counts.take(1, of: .streams, for: holder(1), under: limit) }
        _ = counts.take(1, of: .streams, for: holder(1), under: limit)
        #expect(counts.total(of: .streams) == 2)
        counts.giveBack(1, of: .streams, for: holder(1), under: limit)
        #expect(counts.take(1, of: .streams, for: holder(1), under: limit) == nil)
        for _ in 0..<2 { counts.giveBack(1, of: .streams, for: holder(1), under: limit) }
        #expect(counts.isEmpty)
    }

    @Test func `an item above the limit enters alone`() {
        var counts = ShareCounts()
        #expect(counts.take(100, of: .uploads, for: holder(1), under: limit) == nil)
        #expect(counts.take(1, of: .uploads, for: holder(1), under: limit) == .application)
        counts.giveBack(100, of: .uploads, for: holder(1), under: limit)
        #expect(counts.isEmpty)
    }
}
