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
    /// The bodies of a batch.
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

    /// How many requests the batch holds.
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
        let hasOwnBody = if case .own = self.body { true } else { false }
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

    package var fieldsPerRequest: Int {
        if case .own = body { return varying.count + 2 }
        return varying.count + 1
    }

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
