/// The two forms of Base64 that requests use.
///
/// The decoder of `Outbound` is for provider clients, which the APIs do not import.
enum Base64 {
    /// The alphabet of Basic authentication, whose padding may be missing. Source: RFC 4648 §4.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        decode(text, plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"), isPadded: true)
    }

    /// The alphabet of signed ids, never padded. Source: RFC 4648 §5, RFC 7515 §2.
    static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? {
        decode(text, plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"), isPadded: false)
    }

    private static func decode(
        _ text: some Sequence<UInt8>, plus: UInt8, slash: UInt8, isPadded: Bool
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for character in text {
            if isPadded, character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let sextet = sextet(character, plus: plus, slash: slash) else { return nil }
            bits = bits << 6 | sextet
            count += 1
            if count & 3 == 0 {
                bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
                bytes.append(UInt8(truncatingIfNeeded: bits))
            }
        }
        switch count & 3 {
        case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
        case 1: return nil
        default: break
        }
        return padding <= 2 ? bytes : nil
    }

    private static func sextet(_ character: UInt8, plus: UInt8, slash: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character) - 0x41
        case 0x61...0x7A: UInt32(character) - 0x61 + 26
        case 0x30...0x39: UInt32(character) - 0x30 + 52
        case plus: 62
        case slash: 63
        default: nil
        }
    }
}

extension Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The alphabet of URLs, without padding. Source: RFC 4648 §5.
    static func encodeURL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits = 0
        var held: UInt32 = 0
        for byte in bytes {
            held = held << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(digits[Int(held >> UInt32(bits) & 0x3F)])
            }
        }
        if bits > 0 { text.append(digits[Int(held << UInt32(6 - bits) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
