import BelfryService
import Testing

@Suite struct BurstTests {
    private static func batch(_ key: Int64, devices: Int) -> Batch {
        Batch(
            key: Key(key), pushKey: Key(key), platformKey: Key(1), lane: .urgent,
            devices: (1...devices).map { Key(Int64($0)) }, answers: Array(repeating: .pending, count: devices),
            attempt: 1, isLapsed: false)
    }

    @Test(arguments: [
        ([500, 500, 500], [1, 1, 1]), ([499, 500, 1], [2, 1]), ([300, 300, 300], [2, 1]), ([1, 2, 500, 1], [3, 1]),
        ([], []),
    ])
    func `a burst takes batches up to one full weight`(devices: [Int], expected: [Int]) {
        let batches = devices.enumerated().map { Self.batch(Int64($0 + 1), devices: $1) }
        let runs = Burst().runs(of: batches)
        #expect(runs.map(\.count) == expected)
        #expect(runs.flatMap(\.self) == batches)
    }

    @Test func `hundreds of batches of one device are one burst`() {
        let batches = (1...600).map { Self.batch($0, devices: 1) }
        #expect(Burst().runs(of: batches).map(\.count) == [250, 250, 100])
    }

    @Test func `a burst of the least weight is one batch`() {
        #expect(Burst(weightMax: 1).runs(of: (1...3).map { Self.batch($0, devices: 1) }).count == 3)
    }
}
