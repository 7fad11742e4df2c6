/// JSON written piece by piece, around parts that are encoded once. Source: RFC 8259 §7.
public enum JSONText {
    public static func quoted(_ text: String) -> [UInt8] { quoted(Array(text.utf8)) }

    /// Bytes as a JSON string.
    public static func quoted(_ text: [UInt8]) -> [UInt8] {
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        quoted.reserveCapacity(text.count + 2)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): quoted += [UInt8(ascii: "\\"), byte]
            case 0x08: quoted += Array(#"\b"#.utf8)
            case 0x09: quoted += Array(#"\t"#.utf8)
            case 0x0A: quoted += Array(#"\n"#.utf8)
            case 0x0C: quoted += Array(#"\f"#.utf8)
            case 0x0D: quoted += Array(#"\r"#.utf8)
            case 0..<0x20: quoted += Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: quoted.append(byte)
            }
        }
        quoted.append(UInt8(ascii: "\""))
        return quoted
    }

    /// Texts as a JSON array of strings.
    public static func array(_ texts: some Collection<[UInt8]>) -> [UInt8] {
        var array: [UInt8] = [UInt8(ascii: "[")]
        for text in texts {
            if array.count > 1 { array.append(UInt8(ascii: ",")) }
            array += quoted(text)
        }
        array.append(UInt8(ascii: "]"))
        return array
    }

    /// Texts as a JSON object, in this order: no key is compared with another, and none is lost.
    package static func object(_ texts: [(key: String, text: String)]) -> [UInt8] {
        object(of: texts.map { quoted($0.key) + [UInt8(ascii: ":")] + quoted($0.text) })
    }

    /// A JSON object of members that are JSON already.
    package static func object(of members: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "{")] + members.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
    }

    /// A member with a value that is JSON already.
    package static func member(_ key: StaticString, _ value: some Collection<UInt8>) -> [UInt8] {
        Array("\"\(key)\":".utf8) + value
    }
}
