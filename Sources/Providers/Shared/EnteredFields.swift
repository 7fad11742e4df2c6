import BelfryService
import FoundationEssentials
import KeyFiles
import NIOSSL
import Outbound

/// The fields entered for a platform; null counts as not given.
///
/// Texts come out of files, consoles and environment variables: a byte order mark and line ends around a value are none of it.
struct EnteredFields {
    private let values: [String: JSONValue]

    /// Throws `InvalidInput` when there are fields that the provider does not know.
    init(_ entered: [String: JSONValue], of provider: String, known: [String]) throws(InvalidInput) {
        values = entered.filter { !$0.value.isNull }
        for field in values.keys.sorted() where !known.contains(field) {
            let nearest = known.nearest(to: field).map { "; did you mean \($0)?" } ?? ""
            throw InvalidInput(
                field: field,
                "is not a field of \(provider) credentials, which are \(known.joined(separator: ", "))\(nearest)")
        }
    }

    subscript(field: String) -> JSONValue? { values[field] }

    func text(_ field: String) throws(InvalidInput) -> String {
        guard let text = try textIfAny(field) else { throw InvalidInput(field: field, "is missing") }
        guard !text.isEmpty else { throw InvalidInput(field: field, "is empty") }
        return text
    }

    /// A JSON document, entered as a text, as an object, or as the Base64 of its text.
    func documentIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let document = values[field], case .object = document else {
            guard let text = try textIfAny(field) else { return nil }
            return try EnteredDocument(text).json(field: field)
        }
        return String(decoding: document.encoded, as: UTF8.self)
    }

    func textIfAny(_ field: String) throws(InvalidInput) -> String? {
        guard let value = values[field] else { return nil }
        guard let text = value.stringValue else {
            throw InvalidInput(field: field, "has to be a string, it is \(value.typeName)")
        }
        return Self.trimmed(text)
    }

    static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        while let last = scalars.last, last == "\n" || last == "\r" { scalars.removeLast() }
        while let first = scalars.first, first == "\n" || first == "\r" { scalars.removeFirst() }
        return String(scalars)
    }

    /// An https URL; nil when it was not entered.
    func urlIfAny(_ field: String, schemes: Set<String> = ["https"]) throws(InvalidInput) -> String? {
        guard let text = try textIfAny(field) else { return nil }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), let url = URL(string: text), let scheme = url.scheme,
            schemes.contains(scheme),
            url.host()?.isEmpty == false, url.user() == nil, 1...65_535 ~= url.port ?? 443
        else {
            throw InvalidInput(
                field: field,
                "is not a URL that begins with \(schemes.sorted().map { "\($0)://" }.joined(separator: " or "))")
        }
        return text
    }
}

extension Outbound {
    /// Makes the TLS configuration, or throws with a human-readable reason.
    static func checkedTLS(
        trustRoots: String?, certificate: String? = nil, key: String? = nil
    ) throws(InvalidInput) -> TLSConfiguration? {
        do {
            return try tls(trustRoots: trustRoots, certificate: certificate, key: key)
        } catch {
            let field = certificate == nil ? "trust_root" : "certificate or private_key"
            throw InvalidInput(field: field, "cannot be used: \(error)")
        }
    }
}

/// A JSON document as files, consoles, shells and environment variables hand it over: in Base64, in quotation marks as a whole, with
/// its own quotation marks escaped, or with real line ends within its texts.
struct EnteredDocument {
    private let text: String

    init(_ text: String) { self.text = Self.unwrapped(text.trimmedDocument) }

    /// The text of the JSON. Throws, with the line and the text found there, when it begins as JSON and is not valid.
    func json(field: String) throws(InvalidInput) -> String {
        guard text.utf8.first == UInt8(ascii: "{") else {
            guard let bytes = Base64.decode(pasted: text.utf8) else { return text }
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

/// Describes the key that a service account has in place of the needed one, as the end of a sentence; empty where there is no key.
func foundKey(in serviceAccount: String) -> String {
    guard let key = try? JSONValue(json: serviceAccount.utf8)["private_key"]?.stringValue else { return "" }
    return ", but \(PEMFile.words(for: key))"
}
