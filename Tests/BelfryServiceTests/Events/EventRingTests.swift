import BelfryService
import Testing

@Suite struct EventRingTests {
    @Test func `a reader that keeps up reads everything in order`() {
        var ring = EventRing<Int>(countMax: 4)
        var place: Int64 = 0
        for number in 1...20 {
            ring.append(number * 10)
            let reading = ring.read(after: place, atMost: 10)
            #expect(reading.lost == 0)
            #expect(reading.events.map(\.event) == [number * 10])
            place = reading.events.last?.number ?? 0
        }
        #expect(ring.read(after: place, atMost: 10).events.isEmpty)
    }

    @Test(
        arguments: [
            (0, 6, [7, 8, 9, 10]), (3, 3, [7, 8, 9, 10]), (6, 0, [7, 8, 9, 10]), (8, 0, [9, 10]), (10, 0, []),
            (99, 0, []), (-1, 6, [7, 8, 9, 10]), (.min, 6, [7, 8, 9, 10]), (.max, 0, []), (.max - 1, 0, []),
        ] as [(Int64, Int64, [Int])])
    func `a slow reader hears how many events it lost`(place: Int64, lost: Int64, events: [Int]) {
        var ring = EventRing<Int>(countMax: 4)
        for number in 1...10 { ring.append(number) }
        let reading = ring.read(after: place, atMost: 10)
        #expect(reading.lost == lost)
        #expect(reading.events.map(\.event) == events)
        #expect(reading.events.map(\.number) == events.map(Int64.init))
    }

    @Test func `no more are read at once than asked for`() {
        var ring = EventRing<Int>(countMax: 10)
        for number in 1...10 { ring.append(number) }
        #expect(ring.read(after: 2, atMost: 3).events.map(\.event) == [3, 4, 5])
        #expect(EventRing<Int>(countMax: 3).read(after: 0, atMost: 3).events.isEmpty)
    }
}
