/// Base64 as people paste it: in lines of any length, of either alphabet, with or without padding.
package enum Base64Text {
    /// nil where anything else stands between.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var decoder = Base64Decoder()
        for byte in text where !isBlank(byte) {
            guard decoder.add(byte) else { return nil }
        }
        return decoder.finished
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Decodes one character after the other.
struct Base64Decoder {
    private(set) var bytes: [UInt8] = []
    private var bits: UInt32 = 0
    private var count = 0
    private var paddingCount = 0

    /// False for a character that Base64 has not, or not here.
    mutating func add(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "=") {
            paddingCount += 1
            return paddingCount <= 2
        }
        guard paddingCount == 0, let value = Self.value(of: byte) else { return false }
        bits = (bits << 6 | UInt32(value)) & 0xFFFFFF
        count += 1
        switch count & 3 {
        case 2: bytes.append(UInt8(bits >> 4 & 0xFF))
        case 3: bytes.append(UInt8(bits >> 2 & 0xFF))
        case 0: bytes.append(UInt8(bits & 0xFF))
        default: break
        }
        return true
    }

    /// nil when a character is missing.
    var finished: [UInt8]? { count & 3 == 1 ? nil : bytes }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
