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
