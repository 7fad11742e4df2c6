extension Outbound {
    /// A third party's text, made safe for a log or a page: visible ASCII and spaces, 200 characters at most.
    public static func plain(_ text: some Sequence<UInt8>) -> String {
        String(decoding: text.lazy.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: " ") }.prefix(200), as: UTF8.self)
    }

    /// Whether a text can be put into a header unescaped: visible ASCII, and not empty.
    public static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Letters, digits and `kept` as they are, all else as `%XX`.
    public static func percentEncoded(_ text: some Sequence<UInt8>, keeping kept: StaticString = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.append(byte)
            default:
                let isKept = kept.withUTF8Buffer { $0.contains(byte) }
                encoded += isKept ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
