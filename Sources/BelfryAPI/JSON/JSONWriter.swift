import BelfryCore
import FoundationEssentials
import NIOCore

/// Writes a JSON text of known shape straight into the bytes that leave.
struct JSONWriter {
    var buffer = ByteBufferAllocator().buffer(capacity: 512)
    var needsComma = false

    /// Writes an object or the like: the members, between brackets.
    mutating func object(_ members: (inout JSONWriter) -> Void) {
        enclosed("{", "}", members)
    }

    mutating func array<Element>(
        _ key: StaticString, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void
    ) {
        self.key(key)
        enclosed("[", "]") { writer in
            for element in elements { write(&writer, element) }
        }
    }

    mutating func strings(_ key: StaticString, _ values: [String]) {
        self.key(key)
        enclosed("[", "]") { writer in
            for value in values {
                writer.comma()
                writer.quoted(value)
                writer.needsComma = true
            }
        }
    }

    /// An object whose keys are data.
    mutating func strings(_ key: StaticString, _ members: [(String, String)]) {
        self.members(key, members) { $0.quoted($1) }
    }

    /// An object whose keys are data.
    mutating func integers(_ key: StaticString, _ members: [(String, Int64)]) {
        self.members(key, members) { $0.buffer.writeString(String($1)) }
    }

    private mutating func members<Value>(
        _ key: StaticString, _ members: [(String, Value)], _ write: (inout JSONWriter, Value) -> Void
    ) {
        self.key(key)
        enclosed("{", "}") { writer in
            for (name, value) in members {
                writer.comma()
                writer.quoted(name)
                writer.buffer.writeStaticString(":")
                write(&writer, value)
                writer.needsComma = true
            }
        }
    }

    mutating func object(_ key: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.key(key)
        enclosed("{", "}", members)
    }

    mutating func string(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { quoted(value) } else { buffer.writeStaticString("null") }
        needsComma = true
    }

    mutating func uuid(_ key: StaticString, _ value: UUID) {
        self.key(key)
        buffer.writeStaticString("\"")
        buffer.writeUUID(value)
        buffer.writeStaticString("\"")
        needsComma = true
    }

    mutating func integer(_ key: StaticString, _ value: Int64?) {
        self.key(key)
        if let value { buffer.writeString(String(value)) } else { buffer.writeStaticString("null") }
        needsComma = true
    }

    mutating func bool(_ key: StaticString, _ value: Bool) {
        self.key(key)
        buffer.writeStaticString(value ? "true" : "false")
        needsComma = true
    }

    mutating func key(_ key: StaticString) {
        comma()
        buffer.writeStaticString("\"")
        buffer.writeStaticString(key)
        buffer.writeStaticString("\":")
        needsComma = false
    }

    mutating func comma() {
        if needsComma { buffer.writeStaticString(",") }
    }

    mutating func enclosed(_ open: StaticString, _ close: StaticString, _ body: (inout JSONWriter) -> Void) {
        comma()
        buffer.writeStaticString(open)
        needsComma = false
        body(&self)
        buffer.writeStaticString(close)
        needsComma = true
    }

    mutating func quoted(_ value: String) {
        buffer.writeStaticString("\"")
        if value.utf8.contains(where: \.needsEscape) {
            for byte in value.utf8 { escaped(byte) }
        } else {
            buffer.writeString(value)
        }
        buffer.writeStaticString("\"")
    }

    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): buffer.writeStaticString(#"\""#)
        case UInt8(ascii: "\\"): buffer.writeStaticString(#"\\"#)
        case 0x00...0x1F:
            buffer.writeStaticString(#"\u00"#)
            buffer.writeBytes([byte >> 4 + 0x30, (byte & 15).hexDigit])
        default: buffer.writeInteger(byte)
        }
    }
}

extension ByteBuffer {
    /// The 36 characters of a UUID, in lower case as the original service wrote them.
    fileprivate mutating func writeUUID(_ value: UUID) {
        withUnsafeBytes(of: value.uuid) { bytes in
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { writeInteger(UInt8(ascii: "-")) }
                writeInteger(UInt16((byte >> 4).hexDigit) << 8 | UInt16((byte & 15).hexDigit))
            }
        }
    }
}

extension UInt8 {
    fileprivate var needsEscape: Bool { self < 0x20 || self == 0x22 || self == 0x5C }
    fileprivate var hexDigit: UInt8 { self < 10 ? 0x30 + self : 0x57 + self }
}
