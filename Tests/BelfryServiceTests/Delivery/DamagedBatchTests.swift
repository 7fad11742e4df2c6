import BelfryService
import Testing

@Suite struct DamagedBatchTests {
    private static let devices = DeviceList.encode([Key(3), Key(5), Key(900)])
    private static let damaged = Answer.skipped(.damaged)

    @Test(
        arguments: [
            // The list of devices is lost: the answers say how many there were.
            ([0xFF], [0, 1, 2], [damaged, .accepted, .gone]), ([0x80], [0], [damaged]),
            // An answer without a meaning.
            (devices, [1, 100, 0], [.accepted, damaged, damaged]),
            // Which answer belongs to which device is not known.
            (devices, [1, 1], [damaged, damaged, damaged]), (devices, [1, 1, 1, 1], [damaged, damaged, damaged]),
        ] as [([UInt8], [UInt8], [Answer])])
    func `readable rows stay, and all others are passed over`(
        devices: [UInt8], answers: [UInt8], rest: [Answer]
    ) {
        let batch = DamagedBatch(devices: devices, answers: answers)
        #expect(!batch.isSound)
        #expect(batch.writtenOff == rest)
    }

    @Test func `a batch that was mended is sound`() {
        #expect(DamagedBatch(devices: Self.devices, answers: [0, 1, 2]).isSound)
    }
}
