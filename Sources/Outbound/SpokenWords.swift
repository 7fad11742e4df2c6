import FoundationEssentials

extension Outbound {
    /// The sentence for people in an answer of any bytes: a member of a JSON object, the title of a page, or the text itself. nil where
    /// there is none.
    ///
    /// It is made safe for a log or a page: visible ASCII, 160 characters at most, and without what may be a token or a key.
    public static func words(in body: some Collection<UInt8>) -> String? {
        let start = body.first { !$0.isSpace }
        let text: String
        if start == UInt8(ascii: "{") {
            guard let spoken = try? JSONDecoder().decode(SpokenBody.self, from: Data(body)).words else { return nil }
            text = spoken
        } else {
            let page = String(decoding: body.prefix(bytesReadMax), as: UTF8.self)
            text = start == UInt8(ascii: "<") ? title(of: page) : page
        }
        return words(text)
    }

    /// A sentence, made safe in the same way.
    public static func words(_ text: String) -> String? {
        let words = text.prefix(charactersReadMax).split(whereSeparator: \.isWhitespace)
            .map { isOpaque($0) ? "..." : $0 }
        let sentence = plain(words.joined(separator: " ").utf8).prefix(charactersMax)
        return sentence.isEmpty ? nil : String(sentence)
    }

    private static let bytesReadMax = 4_096
    private static let charactersReadMax = 1_024
    private static let charactersMax = 160
    /// A longer run of letters, digits and the signs that tokens have is none of a language.
    private static let wordMax = 31

    private static func isOpaque(_ word: Substring) -> Bool {
        guard word.utf8.count > wordMax else { return false }
        var run = 0
        for byte in word.utf8 {
            run = byte.isOfToken ? run + 1 : 0
            if run > wordMax { return true }
        }
        return false
    }

    /// The title of a page; its first heading where it has none.
    private static func title(of page: String) -> String {
        for name in ["<title", "<h1"] {
            guard let start = page.firstIndex(ofASCII: name) else { continue }
            let text = page[start...].drop { $0 != ">" }.dropFirst().prefix { $0 != "<" }
            if !text.allSatisfy(\.isWhitespace) { return String(text) }
        }
        return ""
    }
}

extension String {
    /// The index where an ASCII text begins, in any case.
    fileprivate func firstIndex(ofASCII text: String) -> Index? {
        let (bytes, sought) = (Array(utf8), Array(text.utf8))
        guard bytes.count >= sought.count else { return nil }
        let start = (0...(bytes.count - sought.count)).first { start in
            sought.indices.allSatisfy { bytes[start + $0] | 0x20 == sought[$0] | 0x20 }
        }
        return start.map { utf8.index(utf8.startIndex, offsetBy: $0) }
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }

    fileprivate var isOfToken: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "="): true
        default: false
        }
    }
}

/// The members in which providers write for people. Those of the wrong type count as not given.
private struct SpokenBody: Decodable {
    let words: String?

    private enum Key: String, CodingKey {
        case message, error_description, reason, msg, detail, error
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let texts = [Key.message, .error_description, .msg, .detail, .reason].lazy.compactMap {
            try? container.decode(String.self, forKey: $0)
        }
        if let text = texts.first(where: { !$0.isEmpty }) {
            words = text
        } else if let error = try? container.decode(String.self, forKey: .error) {
            words = error
        } else {
            words = try? container.decode(SpokenBody.self, forKey: .error).words
        }
    }
}
