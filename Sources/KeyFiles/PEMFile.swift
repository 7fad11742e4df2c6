/// The blocks of a text in PEM, in whatever shape it arrives: in one line or in lines of any length, with CRLF, blanks, a byte
/// order mark, with text before and behind, with `\n` spelled out as environment variables and JSON have it, or as bare Base64
/// of the block or of the whole text.
///
/// What is damaged is refused with the line and what was found there. Source: RFC 7468.
package struct PEMFile: Sendable {
    package struct Block: Sendable {
        /// Such as `PRIVATE KEY`.
        package let label: String
        /// The content in DER.
        package let bytes: [UInt8]
        /// Whether it had a header of its own; one that had none is known by its bytes.
        let isHeaded: Bool
    }

    package let blocks: [Block]

    /// Bytes; the certificates that a system trusts are some hundred thousand.
    package static let bytesMax = 4 << 20

    package init(_ text: String) throws(KeyFileError) { try self.init(Array(text.utf8)) }

    package init(_ bytes: [UInt8]) throws(KeyFileError) {
        guard bytes.count <= Self.bytesMax else {
            throw KeyFileError(.format, "the text has \(bytes.count) bytes, PEM has \(Self.bytesMax) at most")
        }
        blocks = try Self.blocks(in: Self.spelledOut(bytes), mayBeWrapped: true)
    }

    /// - Parameter mayBeWrapped: whether the whole text may be in Base64 once more.
    private static func blocks(in text: [UInt8], mayBeWrapped: Bool) throws(KeyFileError) -> [Block] {
        var scanner = PEMScanner(text)
        var blocks: [Block] = []
        while let block = try scanner.next() { blocks.append(block) }
        if !blocks.isEmpty { return blocks }
        if let line = scanner.lineOfBrokenHeader {
            throw KeyFileError(
                .format, "line \(line) has BEGIN, but not as PEM begins: -----BEGIN with five hyphens on both sides")
        }
        if let (label, line) = scanner.loneEnd {
            throw KeyFileError(
                .format,
                "line \(line) has END \(label), and no line before it has BEGIN \(label): the first line, "
                    + "-----BEGIN \(label)-----, is missing")
        }
        guard let bytes = Base64.decode(pasted: text), bytes.count >= 32 else {
            throw KeyFileError(.format, "there is no PEM in it")
        }
        if let label = DERKind(bytes)?.label { return [Block(label: label, bytes: bytes, isHeaded: false)] }
        guard mayBeWrapped else { throw KeyFileError(.format, "there is no PEM in it") }
        return try Self.blocks(in: bytes, mayBeWrapped: false)
    }

    /// Replaces the escapes of JSON and of shells by the bytes they stand for.
    private static func spelledOut(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\\")) else { return bytes }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            switch rest.first {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                guard let character = UInt8(String(decoding: rest.prefix(5).dropFirst(), as: UTF8.self), radix: 16)
                else {
                    continue
                }
                text.append(character)
                rest = rest.dropFirst(4)
            // `\/` and `\\` stand for themselves, and at the end of a line it goes on.
            default: continue
            }
            rest = rest.dropFirst()
        }
        return text
    }
}

/// Finds one block after the other.
private struct PEMScanner {
    private let text: [UInt8]
    private var place = 0
    private var line = 1

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    init(_ text: [UInt8]) { self.text = text }

    /// nil when there are no more.
    mutating func next() throws(KeyFileError) -> PEMFile.Block? {
        guard let start = find(Self.begin, from: place) else { return nil }
        move(to: start)
        let (label, first) = (try label(behind: Self.begin), line)
        let body = place
        guard let end = find(Self.dashes, from: body), text[end...].starts(with: Self.end) else {
            throw KeyFileError(.format, "\(label), which begins at line \(first), has no END \(label): it is cut off")
        }
        let bytes = try decoded(body..<end, of: label, from: first)
        move(to: end)
        let last = try self.label(behind: Self.end)
        guard last == label else {
            throw KeyFileError(.format, "\(label), which begins at line \(first), ends as \(last) at line \(line)")
        }
        return PEMFile.Block(label: label, bytes: bytes, isHeaded: true)
    }

    /// The line that has a beginning with other dashes than PEM has.
    var lineOfBrokenHeader: Int? {
        find(Array("BEGIN ".utf8), from: 0).map { place in text[..<place].count { $0 == 0x0A } + 1 }
    }

    /// The name and the line of an end that has no beginning before it.
    var loneEnd: (label: String, line: Int)? {
        guard let place = find(Self.end, from: 0) else { return nil }
        let label = text[(place + Self.end.count)...].prefix(64).prefix { $0 != UInt8(ascii: "-") && $0 != 0x0A }
        return (String(decoding: label, as: UTF8.self), text[..<place].count { $0 == 0x0A } + 1)
    }

    /// The words between the dashes. It moves behind them.
    private mutating func label(behind mark: [UInt8]) throws(KeyFileError) -> String {
        let start = place + mark.count
        let label = text[start...].prefix { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x20 }
        guard label.count <= 64, text[label.endIndex...].starts(with: Self.dashes) else {
            throw KeyFileError(
                .format,
                "line \(line) has \(String(decoding: mark, as: UTF8.self))without the five hyphens behind the name")
        }
        move(to: label.endIndex + Self.dashes.count)
        return String(decoding: label, as: UTF8.self)
    }

    private mutating func decoded(
        _ body: Range<Int>, of label: String, from first: Int
    ) throws(KeyFileError) -> [UInt8] {
        let start = text[body].drop(while: Base64.isBlank)
        guard !start.starts(with: Array("Proc-Type".utf8)), label != "ENCRYPTED PRIVATE KEY" else {
            // Its key would be derived of a passphrase in as many iterations as it says.
            return []
        }
        var decoder = Base64Decoder()
        var rest = start
        move(to: rest.startIndex)
        while let byte = rest.popFirst() {
            if byte == 0x0A { line += 1 }
            if Base64.isBlank(byte) || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { continue }
            if byte >= 0x80, let count = Self.invisible(byte, rest) {
                rest = rest.dropFirst(count)
                continue
            }
            guard decoder.add(byte) else {
                throw KeyFileError(
                    .format,
                    "line \(line) of \(label) has \(Self.named(byte)), which is "
                        + (byte == UInt8(ascii: "=") || Self.isBase64(byte)
                            ? "behind the end of its Base64" : "no Base64"))
            }
        }
        place = body.upperBound
        guard let bytes = decoder.finished else {
            throw KeyFileError(.format, "\(label), lines \(first) to \(line), lacks a character of its Base64")
        }
        if let length = DERKind.length(of: bytes), length != bytes.count {
            throw KeyFileError(
                .format,
                "\(label), lines \(first) to \(line), is \(length > bytes.count ? "cut off" : "damaged"): it has \(bytes.count) "
                    + "bytes and says it has \(length)")
        }
        guard !bytes.isEmpty else { throw KeyFileError(.format, "\(label), which begins at line \(first), is empty") }
        return bytes
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        var decoder = Base64Decoder()
        return decoder.add(byte)
    }

    /// The further bytes of a blank that is not ASCII: no-break space, zero-width space, byte order mark.
    private static func invisible(_ byte: UInt8, _ rest: ArraySlice<UInt8>) -> Int? {
        for blank in [[0xC2, 0xA0], [0xE2, 0x80, 0x8B], [0xE2, 0x80, 0xA8], [0xEF, 0xBB, 0xBF]] as [[UInt8]]
        where byte == blank[0] && rest.starts(with: blank.dropFirst()) {
            return blank.count - 1
        }
        return nil
    }

    private static func named(_ byte: UInt8) -> String {
        (0x21...0x7E).contains(byte) ? "'\(Character(Unicode.Scalar(byte)))'" : "a byte 0x\(String(byte, radix: 16))"
    }

    /// Counts the lines on the way.
    private mutating func move(to other: Int) {
        line += text[place..<other].count { $0 == 0x0A }
        place = other
    }

    private func find(_ mark: [UInt8], from start: Int) -> Int? {
        var place = start
        while let next = text[place...].firstIndex(of: mark[0]) {
            if text[next...].starts(with: mark) { return next }
            place = next + 1
        }
        return nil
    }
}

/// The kind of a DER structure that has no header.
struct DERKind {
    let label: String

    /// nil for bytes that are none of these.
    init?(_ bytes: [UInt8]) {
        guard bytes.first == BERValue.sequence, Self.length(of: bytes) == bytes.count else { return nil }
        var outer = BERReader(bytes[...])
        guard var fields = try? outer.next().children, let first = try? fields.next(),
            let second = try? fields.next()
        else { return nil }
        switch (first.tag, second.tag) {
        case (BERValue.integer, BERValue.sequence): label = "PRIVATE KEY"
        case (BERValue.integer, BERValue.octets): label = "EC PRIVATE KEY"
        case (BERValue.integer, BERValue.integer): label = "RSA PRIVATE KEY"
        case (BERValue.sequence, BERValue.sequence): label = "CERTIFICATE"
        case (BERValue.sequence, BERValue.octets): label = "ENCRYPTED PRIVATE KEY"
        case (BERValue.sequence, 0x03): label = "PUBLIC KEY"
        default: return nil
        }
    }

    /// The bytes that a value in DER says it has, with its tag; nil where it does not say so.
    static func length(of bytes: [UInt8]) -> Int? {
        guard bytes.count >= 2, bytes[0] & 0x1F != 0x1F, bytes[1] != 0x80 else { return nil }
        guard bytes[1] > 0x80 else { return Int(bytes[1]) + 2 }
        let count = Int(bytes[1] & 0x7F)
        guard count <= 4, bytes.count >= 2 + count else { return nil }
        return bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) } + 2 + count
    }
}
