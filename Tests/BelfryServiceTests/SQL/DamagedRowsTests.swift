import BelfryService
import Synchronization
import Testing

@Suite struct DamagedRowsTests {
    @Test func `a bad row is reported once with its fault`() {
        let reports = Mutex<[String]>([])
        let rows = DamagedRows { row, fault in reports.withLock { $0.append("\(row): \(fault)") } }
        for _ in 1...3 { rows.note("geofence 1", StoreError.damaged("geofence 1", "no data")) }
        rows.note("geofence 2", InvalidInput(field: "data", "is not an object"))
        #expect(reports.withLock { $0 } == ["geofence 1: no data", "geofence 2: data is not an object"])
    }

    @Test func `no more than a thousand are remembered`() {
        let count = Mutex(0)
        let rows = DamagedRows { _, _ in count.withLock { $0 += 1 } }
        for number in 0...DamagedRows.countMax { rows.note("push \(number)", StoreError.damaged("push \(number)")) }
        rows.note("push \(DamagedRows.countMax)", StoreError.damaged("push"))
        rows.note("push 0", StoreError.damaged("push 0"))
        #expect(count.withLock { $0 } == DamagedRows.countMax + 2)
    }

    @Test(
        arguments: [
            ([1, 2, 3, 4, 5, 6], 3, [1, 2, 3]), ([-1, -2, -3, 4, 5], 2, [4, 5]), ([1, -2, 3, -4], 5, [1, 3]),
            ([-1, -2], 2, []), ([], 4, []), ([1], 0, []),
        ] as [([Int], Int, [Int])])
    func `a list page continues past an unreadable row`(rows: [Int], limit: Int, expected: [Int]) {
        let found = DamagedRows.slice(of: limit, after: 0) { (start: Int, limit: Int) in
            rows.enumerated().dropFirst(start).prefix(limit).map { (position: $0 + 1, value: $1 > 0 ? $1 : nil) }
        }
        #expect(found == expected)
    }
}
