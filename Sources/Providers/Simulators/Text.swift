import FoundationEssentials

/// `application/x-www-form-urlencoded`, and percent-encoding in general.
enum FormText {
    /// Pairs by name; the last one of a name counts.
    static func read(_ text: Substring) -> [String: String] {
        var pairs: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            pairs[decode(sides[0])] = sides.count > 1 ? decode(sides[1]) : ""
        }
        return pairs
    }

    static func decode(_ text: Substring, plusIsSpace: Bool = true) -> String {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Hex.value(bytes[index + 1]), let low = Hex.value(bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                let isSpace = plusIsSpace && bytes[index] == UInt8(ascii: "+")
                decoded.append(isSpace ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}

/// Words of header fields.
enum Words {
    static func trim(_ text: Substring) -> String {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}

/// Bytes as hex digits and back.
enum Hex {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            text.unicodeScalars.append(Unicode.Scalar(digit(byte >> 4)))
            text.unicodeScalars.append(Unicode.Scalar(digit(byte & 15)))
        }
        return text
    }

    static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    @inline(__always)
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &+ value &- 10
    }

    @inline(__always)
    static func value(_ digit: UInt8) -> UInt8? {
        let decimal = digit &- UInt8(ascii: "0")
        if decimal < 10 { return decimal }
        let letter = (digit | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }
}

/// Base64 with the alphabet of RFC 4648 §5 and no padding.
///
/// Its own code, since simulators share none with the clients they check.
enum Base64URL {
    static func decode(_ text: Substring) -> [UInt8]? {
        var standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: standard).map(Array.init)
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedString()
        return String(standard.compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
}
