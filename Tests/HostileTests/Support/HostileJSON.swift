/// JSON texts of the same length, flat and of shapes that are dear to read.
enum HostileJSON {
    /// `[1,1,…]` of about so many bytes.
    static func flat(bytes: Int) -> String { nested(depth: 1, bytes: bytes) }

    /// `[[[…1,1,…]]]` of about so many bytes.
    static func nested(depth: Int, bytes: Int) -> String {
        let ones = Array(repeating: "1", count: max(1, (bytes - 2 * depth) / 2)).joined(separator: ",")
        return String(repeating: "[", count: depth) + ones + String(repeating: "]", count: depth)
    }

    /// A subscription of Web Push with one field more, which no browser writes.
    static func subscription(number: Int = 0, extra: String) -> String {
        #"{"endpoint":"https://push.example.org/\#(number)","x":\#(extra),"keys":{"p256dh":"\#(point)","auth":"\#(secret)"}}"#
    }

    /// The text as a JSON string.
    static func string(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Source: RFC 8291 §5, the receiver's public key and authentication secret.
    private static let point =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
}
