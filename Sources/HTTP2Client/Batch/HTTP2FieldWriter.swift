/// Writes the fields of requests end to end into one array.
public struct HTTP2FieldWriter: Sendable {
    package var bytes: [UInt8] = []
    package var ends: [UInt32] = []

    /// Completes the field being written.
    public mutating func end() {
        ends.append(UInt32(bytes.count))
    }

    public mutating func write(_ string: some StringProtocol) {
        bytes.append(contentsOf: string.utf8)
    }

    public mutating func write(_ field: [UInt8]) {
        bytes.append(contentsOf: field)
    }

    /// Writes each byte as two lowercase hex digits.
    public mutating func write(hex field: [UInt8]) {
        withRoom(for: field.count * 2) { room in
            for (index, byte) in field.enumerated() {
                room[index * 2] = Self.digit(byte >> 4)
                room[index * 2 + 1] = Self.digit(byte & 15)
            }
        }
    }

    /// Writes 128 bits as a lowercase UUID, 8-4-4-4-12.
    public mutating func write(uuid high: UInt64, _ low: UInt64) {
        withRoom(for: 36) { room in
            var position = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    room[position] = 0x2D
                    position += 1
                }
                let half = nibble < 16 ? high : low
                room[position] = Self.digit(UInt8(truncatingIfNeeded: half >> UInt64(60 - nibble % 16 * 4)) & 15)
                position += 1
            }
        }
    }

    package func range(of field: Int) -> Range<Int> {
        (field == 0 ? 0 : Int(ends[field - 1]))..<Int(ends[field])
    }

    private mutating func withRoom(for count: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        bytes.withUnsafeMutableBufferPointer { write(UnsafeMutableBufferPointer(rebasing: $0[start...])) }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 0x30 : nibble + 0x57
    }
}
