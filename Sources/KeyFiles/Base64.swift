/// Base64. Source: RFC 4648 §4 and §5.
package enum Base64 {
    /// The letters that are read: those of §4, which may be padded; those for URLs, which are not; or either, as people and tools
    /// write it.
    package enum Alphabet: Sendable { case standard, url, either }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Writes the letters for URLs, without padding.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable(encode(contiguous:))
            ?? Array(bytes).withUnsafeBufferPointer(encode(contiguous:))
    }

    private static func encode(contiguous bytes: UnsafeBufferPointer<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(letters[Int(bits >> count) & 63])
            }
        }
        if count > 0 { text.append(letters[Int(bits << (6 - count)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil for anything else than Base64.
    ///
    /// - Parameter isExact: whether one text alone stands for the same bytes, but for padding: bits that stand for nothing are zero.
    package static func decode(
        _ text: some Sequence<UInt8>, of alphabet: Alphabet = .either, isExact: Bool = false
    ) -> [UInt8]? {
        let decoder =
            text.withContiguousStorageIfAvailable { Base64Decoder(of: alphabet, reading: $0) }
            ?? Array(text).withUnsafeBufferPointer { Base64Decoder(of: alphabet, reading: $0) }
        guard let decoder, !isExact || decoder.isExact else { return nil }
        return decoder.finished
    }

    /// Reads it as people paste it, in lines of any length.
    package static func decode(pasted text: some Sequence<UInt8>) -> [UInt8]? { decode(text.filter { !isBlank($0) }) }

    /// Reads it with any amount of padding, as phones send their tokens.
    package static func decode(loose text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
        decode(text.reversed().drop { $0 == UInt8(ascii: "=") }.reversed())
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Decodes one character after the other.
struct Base64Decoder {
    private let alphabet: Base64.Alphabet
    private var bytes: [UInt8] = []
    private var bits: UInt32 = 0
    private var count = 0
    private var paddingCount = 0

    init(of alphabet: Base64.Alphabet = .either) { self.alphabet = alphabet }

    /// nil for anything else than Base64.
    fileprivate init?(of alphabet: Base64.Alphabet, reading text: UnsafeBufferPointer<UInt8>) {
        self.init(of: alphabet)
        bytes.reserveCapacity(text.count * 3 / 4)
        for byte in text {
            guard add(byte) else { return nil }
        }
    }

    /// False for a character that Base64 has not, or not here.
    mutating func add(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "="), alphabet != .url {
            paddingCount += 1
            return paddingCount <= 2
        }
        guard paddingCount == 0, let value = value(of: byte) else { return false }
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

    /// Whether the bits behind the last byte are zero.
    fileprivate var isExact: Bool {
        switch count & 3 {
        case 2: bits & 0xF == 0
        case 3: bits & 0x3 == 0
        default: true
        }
    }

    private func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case UInt8(ascii: "+") where alphabet != .url, UInt8(ascii: "-") where alphabet != .standard: 62
        case UInt8(ascii: "/") where alphabet != .url, UInt8(ascii: "_") where alphabet != .standard: 63
        default: nil
        }
    }
}
