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
}
