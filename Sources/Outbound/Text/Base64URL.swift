/// Base64 for URLs, without padding. Source: RFC 4648 §5.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: .max, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        // The standard alphabet: browsers use the one for URLs, people and tools either.
        values[Int(UInt8(ascii: "+"))] = 62
        values[Int(UInt8(ascii: "/"))] = 63
        return values
    }()

    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
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
                text.append(alphabet[Int(bits >> count) & 63])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Accepts either alphabet, with or without padding; nil for anything else.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable(decode(contiguous:))
            ?? Array(text).withUnsafeBufferPointer(decode(contiguous:))
    }

    private static func decode(contiguous text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var padding = 0
        for letter in text {
            if letter == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            let value = values[Int(letter)]
            guard value != .max, padding == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        // A last group of one letter is invalid, and unused bits must be zero.
        guard count < 6, bits & (1 << count - 1) == 0, padding <= 2 else { return nil }
        return bytes
    }
}
