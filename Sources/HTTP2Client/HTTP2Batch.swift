/// Requests that share their method, most headers and often their body, sent and answered together.
///
/// Common parts are stored once; differing parts are contiguous in one byte array, so a batch of 500 requests costs a
/// handful of allocations.
///
/// ```swift
/// let topic = HTTP2Header("apns-topic", "com.example.app")
/// var batch = HTTP2Batch(headers: [topic], varying: ["apns-id"], body: .shared(payload))
/// for device in devices {
///     batch.append { fields in
///         fields.write("/3/device/")
///         fields.write(hex: device.token)
///         fields.end()                    // the path is complete
///         fields.write(device.id)
///         fields.end()                    // apns-id is complete
///     }
/// }
/// ```
public struct HTTP2Batch: Sendable {
    public enum Body: Sendable {
        /// Every request carries these bytes; empty means no body.
        case shared([UInt8])
        /// Every request writes its own, as the last of its fields; an empty one means no body.
        case own
    }

    public let method: String
    public var headers: [HTTP2Header]
    /// The names of the headers whose value differs from request to request. An empty value leaves the header out.
    public let varying: [String]
    public let body: Body
    /// The response headers to keep, lowercase, instead of those that the connection keeps.
    public var keptHeaders: [String]?
    /// How much of each response body is kept, in bytes, instead of what the connection keeps.
    public var answerBytesMax: Int?
    package var fields = HTTP2FieldWriter()

    public init(method: String = "POST", headers: [HTTP2Header] = [], varying: [String] = [], body: Body) {
        self.method = method
        self.headers = headers
        self.varying = varying
        self.body = body
    }

    public var count: Int { fields.ends.count / fieldsPerRequest }
    public var isEmpty: Bool { fields.ends.isEmpty }

    /// Makes room ahead, so that appending does not reallocate.
    public mutating func reserve(requests: Int, bytesPerRequest: Int) {
        fields.bytes.reserveCapacity(requests * bytesPerRequest)
        fields.ends.reserveCapacity(requests * fieldsPerRequest)
    }

    /// Appends a request. `write` writes the path, each varying value in order and, with ``Body/own``, the body,
    /// and ends each with ``HTTP2FieldWriter/end()``.
    public mutating func append(_ write: (inout HTTP2FieldWriter) -> Void) {
        let before = fields.ends.count
        write(&fields)
        precondition(
            fields.ends.count == before + fieldsPerRequest,
            "a request of this batch has \(fieldsPerRequest) fields, \(fields.ends.count - before) were ended")
    }

    /// Appends a request from strings, for callers with few requests.
    public mutating func append(path: String, values: [String] = [], body: [UInt8] = []) {
        let hasOwnBody = hasOwnBody
        append { fields in
            fields.write(path)
            fields.end()
            for value in values {
                fields.write(value)
                fields.end()
            }
            if hasOwnBody {
                fields.write(body)
                fields.end()
            }
        }
    }

    private var hasOwnBody: Bool { if case .own = body { true } else { false } }

    package var fieldsPerRequest: Int { varying.count + (hasOwnBody ? 2 : 1) }

    /// Returns a batch with only the requests at `indices`, in that order.
    package func picking(_ indices: [Int]) -> HTTP2Batch {
        var picked = self
        picked.fields = HTTP2FieldWriter()
        for index in indices {
            for field in index * fieldsPerRequest..<(index + 1) * fieldsPerRequest {
                picked.fields.bytes.append(contentsOf: fields.bytes[fields.range(of: field)])
                picked.fields.end()
            }
        }
        return picked
    }
}

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

/// Writes the fields of requests end to end into one array.
public struct HTTP2FieldWriter: Sendable {
    package var bytes: [UInt8] = []
    package var ends: [UInt32] = []

    /// Completes the field being written.
    public mutating func end() {
        ends.append(UInt32(bytes.count))
    }

    public mutating func write(_ string: some StringProtocol) {
        bytes.append(contentsOf: string.utf8)
    }

    public mutating func write(_ field: [UInt8]) {
        bytes.append(contentsOf: field)
    }

    /// Writes each byte as two lowercase hex digits.
    public mutating func write(hex field: [UInt8]) {
        withRoom(for: field.count * 2) { room in
            for (index, byte) in field.enumerated() {
                room[index * 2] = Self.digit(byte >> 4)
                room[index * 2 + 1] = Self.digit(byte & 15)
            }
        }
    }

    /// Writes 128 bits as a lowercase UUID, 8-4-4-4-12.
    public mutating func write(uuid high: UInt64, _ low: UInt64) {
        withRoom(for: 36) { room in
            var position = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    room[position] = 0x2D
                    position += 1
                }
                let half = nibble < 16 ? high : low
                room[position] = Self.digit(UInt8(truncatingIfNeeded: half >> UInt64(60 - nibble % 16 * 4)) & 15)
                position += 1
            }
        }
    }

    package func range(of field: Int) -> Range<Int> {
        (field == 0 ? 0 : Int(ends[field - 1]))..<Int(ends[field])
    }

    private mutating func withRoom(for count: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        bytes.withUnsafeMutableBufferPointer { write(UnsafeMutableBufferPointer(rebasing: $0[start...])) }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 0x30 : nibble + 0x57
    }
}
