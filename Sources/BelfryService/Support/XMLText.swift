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
