package import Logging
import SystemPackage

extension StreamLogHandler {
    /// Writes each entry as one line of standard error, whatever texts it contains.
    package static func lines(label: String) -> StreamLogHandler {
        StreamLogHandler(label: label, stream: LogLines { LogLines.writeToStandardError($0) })
    }
}

/// Writes log entries with nothing in them that could be taken for another line or that moves a terminal's cursor.
/// Texts of callers reach the log, such as the reason why a push was refused.
struct LogLines: TextOutputStream, Sendable {
    let output: @Sendable (String) -> Void

    func write(_ entry: String) {
        let text = entry.hasSuffix("\n") ? entry.dropLast() : entry[...]
        output(Self.escaped(text) + "\n")
    }

    /// The text with its control characters spelt as in JSON.
    static func escaped(_ text: some StringProtocol) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return String(text) }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where isControl(scalar):
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Control characters, line separators, and characters that change the direction of text. All are below U+10000.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// An entry that cannot be written is lost: there is nowhere to report it.
    static func writeToStandardError(_ text: String) {
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}
