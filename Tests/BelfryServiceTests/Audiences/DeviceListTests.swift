import BelfryService
import BelfryTesting
import Testing

@Suite struct DeviceListTests {
    @Test(arguments: [[], [1], [1, 2, 3], [127, 255, 256], [1, .max], [.max], [.max - 1, .max]] as [[Int64]])
    func `a list comes back as it was`(keys: [Int64]) {
        let devices = keys.map(Key<Device>.init)
        #expect(DeviceList.decode(DeviceList.encode(devices)) == devices)
    }

    @Test func `lists of chance come back as they were`() {
        for seed in 0..<300 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let spread = random.pick([3, 1_000, 1 << 20, 1 << 40])
            var last: Int64 = 0
            let devices = (0..<random.draw(0...600)).map { _ in
                last += Int64(random.draw(1...spread))
                return Key<Device>(last)
            }
            #expect(DeviceList.decode(DeviceList.encode(devices)) == devices, "seed \(seed)")
        }
    }

    @Test func `a device that follows close on another takes one byte`() {
        #expect(DeviceList.encode((1...500).map { Key($0 * 100) }).count == 500)
    }

    @Test(
        arguments: [
            [0x80], [0x05, 0x80], [0x00], [0x05, 0x00],
            Array(repeating: 0xFF, count: 9) + [0x01], Array(repeating: 0xFF, count: 9) + [0x02],
            Array(repeating: 0x80, count: 9) + [0x01], Array(repeating: 0x80, count: 12) + [0x01],
            Array(repeating: 0xFF, count: 8) + [0x7F, 0x01],
        ] as [[UInt8]])
    func `bytes that are no list are told from one`(bytes: [UInt8]) {
        #expect(DeviceList.decode(bytes) == nil)
    }

    @Test func `whatever is decoded ascends`() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let bytes = (0..<random.draw(0...40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            guard let devices = DeviceList.decode(bytes) else { continue }
            #expect(zip(devices, devices.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
            #expect(devices.allSatisfy { $0.rawValue > 0 }, "seed \(seed)")
        }
    }
}
