/// Values of comma-separated lines. By bytes, since a quotation mark with a combining mark behind it is another character to Swift, and
/// so is CR LF.
///
/// Source: RFC 4180 §2.
extension String {
    /// Quoted where it has to be.
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

    /// Kept from being a formula to a spreadsheet, which takes the wide forms of East Asia too. Source: OWASP, CSV Injection.
    package var withoutFormula: String {
        unicodeScalars.first.map { "=+-@\t\r\n＝＋－＠".unicodeScalars.contains($0) } ?? false ? "'" + self : self
    }
}
