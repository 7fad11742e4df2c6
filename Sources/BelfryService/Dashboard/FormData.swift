import Crypto

/// The fields and files of a form, as a browser sends them. Faults of the form itself are `InvalidInput` on `form`.
struct FormData: Sendable {
    private var values: [String: [String]] = [:]
    /// Parts of the body, without a copy.
    private var files: [String: ArraySlice<UInt8>] = [:]
    private var fileNames: [String: String] = [:]
    /// The number of fields and files, counting each of several with one name.
    private var count = 0

    /// The most fields, more than any form of the dashboard has.
    static let fieldsMax = 512

    init() {}

    /// The first value of a field, without spaces around it; empty when there is none.
    subscript(name: String) -> String { raw(name).trimmed }

    /// The first value of a field as it was typed.
    func raw(_ name: String) -> String { values[name]?.first ?? "" }

    func all(_ name: String) -> [String] { (values[name] ?? []).map(\.trimmed).filter { !$0.isEmpty } }

    /// nil when no file was chosen.
    func file(_ name: String) -> ArraySlice<UInt8>? { files[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The name that a chosen file has on the person's machine.
    func fileName(_ name: String) -> String { fileNames[name] ?? "" }

    /// How long the files are together.
    var fileBytes: Int { files.values.reduce(0) { $0 + $1.count } }

    var hasFiles: Bool { files.values.contains { !$0.isEmpty } }

    /// All values, by the names of their fields.
    var pairs: [(name: String, value: String)] {
        values.sorted { $0.key < $1.key }.flatMap { name, values in values.map { (name, $0) } }
    }

    /// Fields that a person typed or chose: all except `ownFields` and kept files.
    var typed: [(name: String, value: String)] {
        pairs.filter { !Self.ownFields.contains($0.name) && !$0.name.hasPrefix(KeptFile.prefix) }
    }

    /// Fields that every form has.
    static let ownFields: Set = ["csrf", SingleUse.field, HeldForm.pageField, HeldForm.proofField, HeldForm.field]

    static func urlEncoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// A hash of all that was sent.
    func digest(but left: Set<String>) -> [UInt8] {
        var hash = SHA256()
        func add(_ bytes: ArraySlice<UInt8>) {
            withUnsafeBytes(of: UInt64(bytes.count)) { hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        for (name, value) in pairs where !left.contains(name) {
            add(Array(name.utf8)[...])
            add(Array(value.utf8)[...])
        }
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            add(Array(name.utf8)[...])
            add(file)
        }
        return Array(hash.finalize())
    }

    /// Whether only the fields that every form has were sent.
    var isEmpty: Bool { files.isEmpty && values.keys.allSatisfy(Self.ownFields.contains) }

    /// Puts a value in the place of those that a field has.
    mutating func put(_ name: String, _ value: String) { if !name.isEmpty { values[name] = [value] } }

    func isChecked(_ name: String) -> Bool { values[name] != nil }

    /// Whether a person typed this name to confirm. A run of blanks is one: pages show it so, and fields take no line ends.
    func confirms(_ name: String) -> Bool {
        func cleaned(_ text: String) -> String {
            text.asName.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let (typed, wanted) = (raw("confirm"), cleaned(name))
        return wanted.isEmpty ? typed == name : cleaned(typed) == wanted
    }

    /// The names of a field of lines and commas. A name with a comma in it stands in quotation marks.
    func list(_ name: String) -> [String] { ListedNames.read(raw(name)) }

    /// Names that may have commas in them, such as those of users: where there are several lines, each is one.
    func lines(_ name: String) -> [String] {
        let lines = raw(name).split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }
        guard lines.count > 1 else { return list(name) }
        return lines.flatMap { line in
            let text = String(line).trimmed
            return text.hasPrefix("\"")
                ? ListedNames.read(text) : [text.hasSuffix(",") ? String(text.dropLast()).trimmed : text]
        }
    }

    /// Adds a value, with the line ends of a text: browsers send others.
    mutating func add(_ name: String, _ value: String) throws(InvalidInput) {
        values[name, default: []].append(try value.storable(name).replacing("\r\n", with: "\n"))
        try check()
    }

    mutating func add(_ name: String, file: ArraySlice<UInt8>, named fileName: String = "") throws(InvalidInput) {
        (files[name], fileNames[name]) = (file, String(fileName.prefix(100)))
        try check()
    }

    private mutating func check() throws(InvalidInput) {
        count += 1
        guard count <= Self.fieldsMax else {
            throw InvalidInput(field: "form", "has more than \(Self.fieldsMax) fields")
        }
    }
}

extension FormData {
    /// `application/x-www-form-urlencoded`. Source: WHATWG URL §5.1.
    init(urlEncoded text: String) throws(InvalidInput) {
        // The rest of a longer form is one item, and is refused with it.
        for item in text.split(separator: "&", maxSplits: Self.fieldsMax) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try add(
                String(percentDecoding: parts[0], plusIsSpace: true),
                parts.count > 1 ? String(percentDecoding: parts[1], plusIsSpace: true) : "")
        }
    }
}

extension String {
    /// The text without spaces and line ends around it.
    var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

/// Names with commas or line ends between them, as people type lists.
enum ListedNames {
    /// Commas in quotation marks belong to the name; two quotation marks there are one.
    static func read(_ text: String) -> [String] {
        var (names, name, isQuoted, isBlank) = ([String](), "", false, true)
        var rest = text[...]
        while let character = rest.popFirst() {
            if character.isNewline || character == "," && !isQuoted {
                names.append(name.trimmed)
                (name, isQuoted, isBlank) = ("", false, true)
            } else if character == "\"", isQuoted, rest.first == "\"" {
                name.append(rest.removeFirst())
                isBlank = false
            } else if character == "\"", isQuoted || isBlank {
                isQuoted.toggle()
            } else {
                name.append(character)
                isBlank = isBlank && character.isWhitespace
            }
        }
        return (names + [name.trimmed]).filter { !$0.isEmpty }
    }

    static func write(_ names: [String], with separator: String = "\n") -> String {
        names.map { name in
            name.contains(",") || name.hasPrefix("\"") ? "\"\(name.replacing("\"", with: "\"\""))\"" : name
        }.joined(separator: separator)
    }
}

/// Reads `multipart/form-data`. Source: RFC 7578, RFC 2046 §5.1.
extension FormData {
    /// The longest head of a part, longer than browsers write.
    private static let headBytesMax = 2_048

    init(multipart bytes: [UInt8], boundary: String) throws(InvalidInput) {
        let mark = Array("--\(boundary)".utf8)
        var place = try Self.after(mark, in: bytes, from: 0)
        while !bytes[place...].starts(with: "--".utf8) {
            place = try Self.after(Array("\r\n".utf8), in: bytes, from: place)
            let body = try Self.after(Array("\r\n\r\n".utf8), in: bytes, from: max(0, place - 2))
            guard body - place <= Self.headBytesMax else { throw Self.broken }
            let head = Disposition(String(decoding: bytes[place..<body], as: UTF8.self))
            let next = try Self.after(Array("\r\n".utf8) + mark, in: bytes, from: body)
            let content = bytes[body..<(next - mark.count - 2)]
            if let name = head.name {
                if let fileName = head.fileName {
                    try add(name, file: content, named: fileName)
                } else {
                    try add(name, String(decoding: content, as: UTF8.self))
                }
            }
            place = next
        }
    }

    private static let broken = InvalidInput(field: "form", "is not in the form that browsers send")

    /// The place after the next occurrence of a mark. Each byte is compared with the mark's first before more of it is.
    private static func after(_ mark: [UInt8], in bytes: [UInt8], from start: Int) throws(InvalidInput) -> Int {
        var place = start
        while place + mark.count <= bytes.count {
            if bytes[place] == mark[0], bytes[place..<(place + mark.count)].elementsEqual(mark) {
                return place + mark.count
            }
            place += 1
        }
        throw broken
    }
}

/// The `Content-Disposition` of a part.
private struct Disposition {
    private(set) var name: String?
    /// nil for a part that is no file.
    private(set) var fileName: String?

    init(_ head: String) {
        for line in head.split(whereSeparator: \.isNewline) {
            guard line.lowercased().hasPrefix("content-disposition:") else { continue }
            for part in line.split(separator: ";").dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
                guard pair.count == 2 else { continue }
                if pair[0].lowercased() == "name" { name = pair[1].unquoted }
                if pair[0].lowercased().hasPrefix("filename") { fileName = fileName ?? pair[1].unquoted }
            }
        }
    }
}

extension String {
    fileprivate var unquoted: String {
        count > 1 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}

/// The boundary that a content type names.
enum Boundary {
    static func named(in contentType: String) -> String? {
        let parts = contentType.split(separator: ";").map { String($0).trimmed }
        guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
        let named = parts.first { $0.lowercased().hasPrefix("boundary=") }
        guard let text = named.map({ String($0.dropFirst("boundary=".count)).unquoted }) else { return nil }
        // Source: RFC 2046 §5.1.1: 1 to 70 characters.
        return (1...70).contains(text.utf8.count) ? text : nil
    }
}
