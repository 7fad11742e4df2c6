/// Makes untrusted texts safe for a terminal, a log or a file of lines.
extension StringProtocol {
    /// The text with its control characters escaped as in JSON: it cannot move a cursor, start a command of a terminal, end a line or
    /// change the direction of the text behind it. Inside a JSON string its meaning stays.
    ///
    /// - Parameter keepsLines: whether line feeds stay as they are.
    package func withoutControls(keepsLines: Bool = false) -> String {
        let isPlain = utf8.allSatisfy { 0x20..<0x7F ~= $0 || (keepsLines && $0 == UInt8(ascii: "\n")) }
        if isPlain { return String(self) }
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": escaped += keepsLines ? "\n" : "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where scalar.isControl:
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// C0, DEL and C1; line and paragraph separators; marks, embeddings, overrides and isolates of direction; the byte order mark and
    /// annotations, which are not shown. All are below U+10000. Joiners stay: scripts and pictures need them.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFEFF, 0xFFF9...0xFFFB:
            true
        default: false
        }
    }
}
