extension String {
    /// As text or as the value of a quoted attribute in HTML.
    ///
    /// It looks at bytes: a quotation mark with a combining mark behind it is another character to Swift, and a browser takes it for a
    /// quotation mark all the same.
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
