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

    /// Keeps malformed percent-encoding as it is.
    package init(percentDecoding text: Substring, plusIsSpace: Bool = false) {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let digits = bytes[(index + 1)...].prefix(2)
            if bytes[index] == UInt8(ascii: "%"), digits.count == 2, let byte = [UInt8](hex: digits)?.first {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(plusIsSpace && bytes[index] == UInt8(ascii: "+") ? 0x20 : bytes[index])
                index += 1
            }
        }
        self.init(decoding: decoded, as: UTF8.self)
    }
}

extension UInt8 {
    /// In upper case, of a number below 16.
    fileprivate var upperHexDigit: UInt8 { self < 10 ? self + 0x30 : self + 0x37 }
}
