/// One header field in its wire form.
///
/// Names are lowercase ASCII, as HTTP/2 requires. Source: RFC 9113 §8.2.1.
public struct HTTP2Header: Sendable, Hashable {
    /// Whether the header compressor may index a field.
    public enum Indexing: Sendable, Hashable {
        /// The field is added to the dynamic table: a repetition costs one byte. For values that stay the same.
        case indexed
        /// The field is sent in full each time and no proxy may index it. For values that change or are secret.
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
