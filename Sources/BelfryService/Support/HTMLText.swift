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
