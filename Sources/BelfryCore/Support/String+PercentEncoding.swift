extension String {
    /// With percent signs for all but the unreserved characters. Source: RFC 3986 §2.3.
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), (byte >> 4).upperHexDigit, (byte & 15).upperHexDigit]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// In upper case, of a number below 16.
    fileprivate var upperHexDigit: UInt8 { self < 10 ? self + 0x30 : self + 0x37 }
}
