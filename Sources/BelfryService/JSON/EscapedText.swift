extension String {
    /// The text between tags in XML: quotes need no escape there, and would count against the limit. Characters that XML cannot hold
    /// are left out.
    ///
    /// Source: XML 1.0 §2.2, §2.4, §2.11.
    var xmlText: String {
        // The quotation mark of a mark of `PayloadTemplate` says what place it has.
        escaped(in: unicodeScalars.contains { $0.value == 0xFDD1 } ? .attribute : .text)
    }

    /// The value of an attribute between double quotes. Source: XML 1.0 §2.3, §3.3.3.
    var xmlAttribute: String { escaped(in: .attribute) }

    private enum Place { case text, attribute }

    private func escaped(in place: Place) -> String {
        var written = ""
        for scalar in unicodeScalars {
            switch (scalar, place) {
            case ("&", _): written += "&amp;"
            case ("<", _): written += "&lt;"
            // The end of a CDATA section stands in no text.
            case (">", .text) where written.hasSuffix("]]"): written += "&gt;"
            case ("\"", .attribute): written += "&quot;"
            case ("\r", _), ("\t", .attribute), ("\n", .attribute): written += "&#\(scalar.value);"
            case ("\t", .text), ("\n", .text): written.unicodeScalars.append(scalar)
            case ("\u{0}"..<"\u{20}", _), ("\u{FFFE}", _), ("\u{FFFF}", _): continue
            default: written.unicodeScalars.append(scalar)
            }
        }
        return written
    }
}

/// Writes XML for Windows, whose templates accept attributes in any order.
enum XML {
    /// `<name a="b">inner</name>`, or `<name a="b"/>` when there is nothing inside.
    static func element(_ name: String, _ attributes: KeyValuePairs<String, String?> = [:], _ inner: String = "")
        -> String
    {
        let written = attributes.compactMap { name, value in value.map { " \(name)=\"\($0.xmlAttribute)\"" } }.joined()
        return inner.isEmpty ? "<\(name)\(written)/>" : "<\(name)\(written)>\(inner)</\(name)>"
    }
}

extension String {
    /// The text in the form for an error or a log: without user, password and query of a URL, without control characters, and
    /// with 200 characters at most.
    ///
    /// A password may hold any character, so everything before the last `@` is removed, and so is a port that is not a number. Text
    /// that is no URL also loses everything before an `@`: the scheme may be missing.
    package var quotable: String {
        var scheme = ""
        var rest = self[...]
        if let mark = firstRange(of: "://") {
            scheme = String(self[..<mark.upperBound])
            rest = self[mark.upperBound...]
        }
        if let at = rest.lastIndex(of: "@") {
            rest = "…" + rest[at...]
        } else if !scheme.isEmpty, rest.holdsNoPort {
            rest = "…"
        }
        if !scheme.isEmpty, let query = rest.firstIndex(of: "?") { rest = rest[..<query] + "?…" }
        let shown = (scheme + rest).withoutControls()
        return shown.count > Self.quotableMax ? shown.prefix(Self.quotableMax) + "…" : shown
    }

    private static let quotableMax = 200
}

extension Substring {
    /// Whether the text behind the colon of a host, which is no IPv6 address, has other characters than digits: it is a password
    /// then, and the host is missing.
    fileprivate var holdsNoPort: Bool {
        let authority = prefix { !"/?#".contains($0) }
        guard !authority.hasPrefix("["), let colon = authority.firstIndex(of: ":") else { return false }
        return authority[authority.index(after: colon)...].contains { !$0.isASCII || !$0.isNumber }
    }
}

/// Writes values of comma-separated lines, byte by byte: to Swift, a quotation mark with a combining mark behind it is another
/// character, and so is CR LF.
///
/// Source: RFC 4180 §2.
extension String {
    /// The value, quoted if necessary.
    package var csv: String {
        utf8.contains { ",\"\r\n".utf8.contains($0) } ? csvQuoted : self
    }

    package var csvQuoted: String {
        var written = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") { written.append(byte) }
            written.append(byte)
        }
        written.append(UInt8(ascii: "\""))
        return String(decoding: written, as: UTF8.self)
    }

    /// The value in a form that spreadsheets do not take for a formula; they also take the wide forms of East Asia. Source:
    /// OWASP, CSV Injection.
    package var withoutFormula: String {
        unicodeScalars.first.map { "=+-@\t\r\n＝＋－＠".unicodeScalars.contains($0) } ?? false ? "'" + self : self
    }
}

extension String {
    /// The text as HTML, or as the value of a quoted attribute.
    ///
    /// It reads bytes: to Swift, a quotation mark with a combining mark behind it is another character, but to a browser it is a
    /// quotation mark.
    package var html: String {
        var written: [UInt8] = []
        written.reserveCapacity(utf8.count)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "&"): written += "&amp;".utf8
            case UInt8(ascii: "<"): written += "&lt;".utf8
            case UInt8(ascii: ">"): written += "&gt;".utf8
            case UInt8(ascii: "\""): written += "&quot;".utf8
            case UInt8(ascii: "'"): written += "&#39;".utf8
            default: written.append(byte)
            }
        }
        return String(decoding: written, as: UTF8.self)
    }
}
