/// The id of one notification to one device: a UUID, as 128 bits.
public struct APNsID: Sendable, Hashable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the 16 bytes of a UUID; nil for any other count.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: half(bytes[..<8]), low: half(bytes[8...]))
    }

    /// Reads the text of a UUID, 8-4-4-4-12 in either case; nil for anything else.
    public init?(text: some Sequence<UInt8>) {
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        var position = 0
        for byte in text {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard position < 36, let digit = Self.value(ofHex: byte) else { return nil }
                halves.high = halves.high << 4 | halves.low >> 60
                halves.low = halves.low << 4 | digit
            }
            position += 1
        }
        guard position == 36 else { return nil }
        self.init(high: halves.high, low: halves.low)
    }

    /// Canonical and lowercase.
    public var description: String {
        func hex(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: digits - text.count) + text
        }
        return [
            hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4),
            hex(low & 0xFFFF_FFFF_FFFF, 12),
        ].joined(separator: "-")
    }

    private static func value(ofHex byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x41...0x46: UInt64(byte - 0x37)
        case 0x61...0x66: UInt64(byte - 0x57)
        default: nil
        }
    }
}
