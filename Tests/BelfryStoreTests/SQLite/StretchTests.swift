import Testing

@testable import BelfryStore

@Suite struct StretchTests {
    @Test(arguments: [[7], [1, 2], [5, 130, 131, 70_000, 1 << 40]] as [[Int64]])
    func `a device goes in and out at its place`(devices: [Int64]) {
        let stretch = Stretch(devices)
        for device in devices {
            let without = stretch.without(device)
            #expect(without?.devices ?? [] == devices.filter { $0 != device })
            guard var again = without, device < again.last else { continue }
            again.insert(device)
            #expect(again == stretch)
        }
        var same = stretch
        same.insert(stretch.last)
        #expect(same == stretch && stretch.without(3) == stretch)
    }

    @Test func `a device alone takes no bytes but its id's`() {
        #expect(Stretch([1 << 40]).others == nil)
        #expect(Stretch([1 << 40, (1 << 40) + 1]).others == [1])
    }
}
