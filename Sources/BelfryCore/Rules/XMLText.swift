extension String {
    /// As text or as the value of an attribute in XML. Characters that XML cannot hold are left out.
    ///
    /// Source: XML 1.0 §2.2, §2.4.
    var xml: String {
        var written = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": written += "&amp;"
            case "<": written += "&lt;"
            case ">": written += "&gt;"
            case "\"": written += "&quot;"
            case "'": written += "&apos;"
            case "\t", "\n", "\r": written += "&#\(scalar.value);"
            case "\u{0}"..<"\u{20}", "\u{FFFE}", "\u{FFFF}": continue
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
        let written = attributes.compactMap { name, value in value.map { " \(name)=\"\($0.xml)\"" } }.joined()
        return inner.isEmpty ? "<\(name)\(written)/>" : "<\(name)\(written)>\(inner)</\(name)>"
    }
}
