/// One header field as it goes on the wire.
///
/// Names are lowercase ASCII, as HTTP/2 asks. Source: RFC 9113 §8.2.1.
public struct HTTP2Header: Sendable, Hashable {
    /// What the header compressor may remember of a field.
    public enum Indexing: Sendable, Hashable {
        /// The field goes into the dynamic table: a repeat costs one byte. For values that stay the same.
        case indexed
        /// The field is sent whole each time and no proxy may index it. For values that change or are secret.
        case never
    }

    public let name: [UInt8]
    public let value: [UInt8]
    public let indexing: Indexing

    public init(name: [UInt8], value: [UInt8], indexing: Indexing = .indexed) {
        self.name = name
        self.value = value
        self.indexing = indexing
    }

    public init(_ name: String, _ value: String, indexing: Indexing = .indexed) {
        self.init(name: Array(name.utf8), value: Array(value.utf8), indexing: indexing)
    }
}
