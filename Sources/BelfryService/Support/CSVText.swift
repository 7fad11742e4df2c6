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
