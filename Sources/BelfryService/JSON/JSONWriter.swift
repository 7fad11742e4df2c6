import FoundationEssentials
import NIOCore
import Synchronization

/// Writes a JSON text of known shape.
struct JSONWriter {
    private var bytes: [UInt8] = []
    var needsComma = false

    init() { bytes.reserveCapacity(512) }

    /// Everything written so far.
    var buffer: ByteBuffer { ByteBuffer(bytes: bytes) }

    /// Returns everything written so far, and continues after it.
    mutating func take() -> ByteBuffer {
        defer { bytes.removeAll(keepingCapacity: true) }
        return buffer
    }

    /// Writes text that is JSON already.
    mutating func write(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A whole number without a decimal point, any other in its shortest form.
    mutating func write(_ double: Double) { bytes.append(json: double) }

    mutating func write(_ integer: Int64) { bytes.append(contentsOf: String(integer).utf8) }

    /// Writes an object or the like: the members, between brackets.
    mutating func object(_ members: (inout JSONWriter) -> Void) {
        enclosed("{", "}", members)
    }

    mutating func array<Element>(
        _ key: StaticString, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void
    ) {
        self.key(key)
        list(elements, write)
    }

    mutating func strings(_ key: StaticString, _ values: [String]) {
        self.key(key)
        list(values) { $0.text($1) }
    }

    /// An object whose keys are data.
    mutating func strings(_ key: StaticString, _ members: [(String, String)]) {
        self.members(key, members) { $0.quoted($1) }
    }

    /// An object whose keys are data.
    mutating func integers(_ key: StaticString, _ members: [(String, Int64)]) {
        self.members(key, members) { $0.write($1) }
    }

    private mutating func members<Value>(
        _ key: StaticString, _ members: [(String, Value)], _ write: (inout JSONWriter, Value) -> Void
    ) {
        self.key(key)
        enclosed("{", "}") { writer in writer.each(members, write) }
    }

    /// Members whose keys are data.
    mutating func members(_ members: JSONObject) {
        each(members.map { ($0.key, $0.value) }) { $0.write($1) }
    }

    private mutating func each<Value>(_ members: [(String, Value)], _ write: (inout JSONWriter, Value) -> Void) {
        for (name, value) in members {
            comma()
            quoted(name)
            self.write(":")
            write(&self, value)
            needsComma = true
        }
    }

    mutating func object(_ key: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.key(key)
        enclosed("{", "}", members)
    }

    mutating func string(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { quoted(value) } else { write("null") }
        needsComma = true
    }

    mutating func uuid(_ key: StaticString, _ value: UUID) {
        self.key(key)
        write("\"")
        write(value)
        write("\"")
        needsComma = true
    }

    mutating func integer(_ key: StaticString, _ value: Int64?) {
        self.key(key)
        if let value { write(value) } else { write("null") }
        needsComma = true
    }

    mutating func bool(_ key: StaticString, _ value: Bool) {
        self.key(key)
        write(value ? "true" : "false")
        needsComma = true
    }

    mutating func key(_ key: StaticString) {
        comma()
        write("\"")
        write(key)
        write("\":")
        needsComma = false
    }

    mutating func comma() {
        if needsComma { write(",") }
    }

    mutating func enclosed(_ open: StaticString, _ close: StaticString, _ body: (inout JSONWriter) -> Void) {
        comma()
        write(open)
        needsComma = false
        body(&self)
        write(close)
        needsComma = true
    }

    mutating func quoted(_ value: String) { bytes.append(jsonString: value) }

    mutating func write(_ value: JSONValue) { bytes.append(json: value) }

    /// The 36 characters of a UUID, in lower case as the original service wrote them.
    private mutating func write(_ value: UUID) {
        withUnsafeBytes(of: value.uuid) { uuid in
            for (index, byte) in uuid.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { bytes.append(UInt8(ascii: "-")) }
                bytes.append((byte >> 4).hexDigit)
                bytes.append((byte & 15).hexDigit)
            }
        }
    }
}

extension JSONWriter {
    /// An array that is not a member of an object.
    mutating func list<Element>(_ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
        enclosed("[", "]") { json in
            for element in elements { write(&json, element) }
        }
    }

    /// A string that is an element of an array.
    mutating func text(_ value: String) {
        comma()
        quoted(value)
        needsComma = true
    }

    /// A whole number without a decimal point, any other in its shortest form.
    mutating func number(_ key: StaticString, _ value: Double) {
        self.key(key)
        write(value)
        needsComma = true
    }

    /// Any value, as it was read.
    mutating func value(_ key: StaticString, _ value: JSONValue) {
        self.key(key)
        element(value)
    }

    mutating func integers(_ key: StaticString, _ values: [Int64]) {
        self.key(key)
        list(values) { $0.element(.integer($1)) }
    }

    mutating func element(_ value: JSONValue) {
        comma()
        write(value)
        needsComma = true
    }
}

/// Encodes replies with their values of JSON as they were written, for which Foundation's encoder has neither long numbers nor an order.
///
/// Each value is encoded as a mark, a text that no caller knows. Its own text takes the place of the mark at the end.
package final class WrittenJSON: Sendable {
    private let secret = UUID().uuidString
    private let texts = Mutex<[[UInt8]]>([])

    fileprivate static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "written-json") }

    /// The members of a reply are in the order of their keys.
    package static func encode(_ reply: some Encodable) throws -> [UInt8] {
        let written = WrittenJSON()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if let key { encoder.userInfo[key] = written }
        return written.filled(Array(try encoder.encode(reply)))
    }

    fileprivate func mark(_ value: JSONValue) -> String {
        texts.withLock { texts in
            texts.append(value.encoded)
            return "\(secret)-\(texts.count - 1)"
        }
    }

    private func filled(_ bytes: [UInt8]) -> [UInt8] {
        let texts = texts.withLock { $0 }
        guard !texts.isEmpty else { return bytes }
        let parts = bytes.split(separator: Array("\"\(secret)-".utf8), omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: Array(parts[0])) { filled, part in
            let place = part.prefix { $0 != UInt8(ascii: "\"") }
            if let place = Int(String(decoding: place, as: UTF8.self)) { filled += texts[place] }
            filled += part.dropFirst(place.count + 1)
        }
    }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        guard let key = WrittenJSON.key, let written = encoder.userInfo[key] as? WrittenJSON else {
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "JSON is written by WrittenJSON alone"))
        }
        try container.encode(written.mark(self))
    }
}
