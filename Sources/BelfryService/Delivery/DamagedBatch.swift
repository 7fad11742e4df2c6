/// The bytes of a batch's row: the readable part, and the answers after it is written off.
package struct DamagedBatch: Sendable, Hashable {
    private let devices: [Key<Device>]?
    private let codes: [UInt8]

    package init(devices: [UInt8], answers: [UInt8]) {
        self.devices = DeviceList.decode(devices)
        codes = answers
    }

    /// Whether the row is readable, having been mended.
    package var isSound: Bool { devices?.count == codes.count && codes.allSatisfy { Answer(byte: $0) != nil } }

    /// A final answer for each device. The number of devices is that of their list, or else the number of answers.
    package var writtenOff: [Answer] {
        guard let devices, devices.count != codes.count else { return codes.map(Self.kept) }
        // It is not known which answer belongs to which device.
        return devices.map { _ in .skipped(.damaged) }
    }

    private static func kept(_ code: UInt8) -> Answer {
        guard let answer = Answer(byte: code), answer != .pending else { return .skipped(.damaged) }
        return answer
    }
}
