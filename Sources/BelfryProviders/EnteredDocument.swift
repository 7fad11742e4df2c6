import BelfryService
import KeyFiles

/// A JSON document as files, consoles, shells and environment variables hand it over: in Base64, in quotation marks as a whole, with
/// its own quotation marks escaped, or with real line ends within its texts.
struct EnteredDocument {
    private let text: String

    init(_ text: String) { self.text = Self.unwrapped(text.trimmedDocument) }

    /// The text of the JSON. Throws, with the line and the text found there, when it begins as JSON and is not valid.
    func json(field: String) throws(InvalidInput) -> String {
        guard text.utf8.first == UInt8(ascii: "{") else {
            guard let bytes = Base64Text.decode(text.utf8) else { return text }
            return EnteredFields.trimmed(String(decoding: bytes, as: UTF8.self))
        }
        let json = Self.withoutLineEndsInTexts(text)
        if (try? JSONValue(json: json.utf8)) != nil { return json }
        // In the lines as they were entered.
        let (line, found) = (text.utf8.count { $0 == UInt8(ascii: "\n") } + 1, typographicMark)
        if let found {
            throw InvalidInput(
                field: field,
                "has \(found.mark) in line \(found.line), which word processors put in place of plain quotation marks")
        }
        guard text.utf8.last == UInt8(ascii: "}") else {
            throw InvalidInput(field: field, "is cut off: it ends in line \(line), without the '}' that JSON ends with")
        }
        do throws(InvalidInput) { _ = try JSONValue(json: text.utf8) } catch {
            throw InvalidInput(field: field, error.problem)
        }
        return json
    }

    private var typographicMark: (mark: Character, line: Int)? {
        var line = 1
        for character in text {
            if character.isNewline { line += 1 }
            if "\u{201C}\u{201D}\u{201E}\u{2018}\u{2019}\u{AB}\u{BB}".contains(character) { return (character, line) }
        }
        return nil
    }

    private static func unwrapped(_ text: String) -> String {
        if text.utf8.count > 2, text.hasPrefix("'"), text.hasSuffix("'") {
            return String(text.dropFirst().dropLast()).trimmedDocument
        }
        if text.hasPrefix("\"") {
            if case .string(let inner)? = try? JSONValue(json: withoutLineEndsInTexts(text).utf8) {
                return inner.trimmedDocument
            }
            if text.hasSuffix("\""), text.utf8.count > 2 { return String(text.dropFirst().dropLast()).trimmedDocument }
        }
        let start = text.dropFirst().drop(while: \.isWhitespace)
        if text.hasPrefix("{"), start.hasPrefix("\\\""),
            case .string(let inner)? = try? JSONValue(json: withoutLineEndsInTexts("\"\(text)\"").utf8)
        {
            return inner
        }
        return text
    }

    /// Escapes the line ends and tabs within texts, as JSON does.
    private static func withoutLineEndsInTexts(_ text: String) -> String {
        var json: [UInt8] = []
        json.reserveCapacity(text.utf8.count + 64)
        var (isInText, isEscaped) = (false, false)
        for byte in text.utf8 {
            switch byte {
            case 0x0A where isInText: json += Array("\\n".utf8)
            case 0x0D where isInText: continue
            case 0x09 where isInText: json += Array("\\t".utf8)
            default: json.append(byte)
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isInText.toggle() }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return String(decoding: json, as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmedDocument: String {
        var scalars = unicodeScalars[...]
        while let first = scalars.first, first == "\u{FEFF}" || first.properties.isWhitespace { scalars.removeFirst() }
        while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
        return String(scalars)
    }
}
