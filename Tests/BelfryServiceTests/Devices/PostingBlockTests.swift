import Testing

@testable import BelfryService

@Suite struct PostingBlockTests {
    @Test(arguments: [[7], [1, 2], [5, 130, 131, 70_000, 1 << 40]] as [[Int64]])
    func `a device goes in and out at its place`(devices: [Int64]) {
        let block = PostingBlock(devices)
        for device in devices {
            let without = block.without(device)
            #expect(without?.devices ?? [] == devices.filter { $0 != device })
            guard var again = without, device < again.last else { continue }
            again.insert(device)
            #expect(again == block)
        }
        var same = block
        same.insert(block.last)
        #expect(same == block && block.without(3) == block)
    }

    @Test func `a device alone takes no bytes but its id's`() {
        #expect(PostingBlock([1 << 40]).others == nil)
        #expect(PostingBlock([1 << 40, (1 << 40) + 1]).others == [1])
    }
}
