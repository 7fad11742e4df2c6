/// The result of one request. An answer is a value; faults are reported in no other way.
public enum HTTP2Answer: Sendable {
    /// The server answered.
    case response(HTTP2Response)
    /// The server certainly did not process the request: it was never written, was refused, or lies above the last
    /// stream of a GOAWAY. Safe to send again. Source: RFC 9113 §8.7.
    case unprocessed(HTTP2Fault)
    /// The request was written and no answer came. The server may have processed it.
    case unknown(HTTP2Fault)
}

/// A server's answer: its status, the headers the caller asked to keep, and the body up to a limit.
public struct HTTP2Response: Sendable {
    public let status: Int
    /// True if the body was longer than the limit of the connection.
    public let isTruncated: Bool
    let bytes: [UInt8]
    let fields: Range<Int>
    let bodyRange: Range<Int>
    let names: [[UInt8]]

    public var body: ArraySlice<UInt8> { bytes[bodyRange] }

    /// The value of a header among those the connection keeps, or nil.
    public subscript(_ name: String) -> String? {
        value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a header among those the connection keeps, or nil.
    public func value(of name: String) -> ArraySlice<UInt8>? {
        names.firstIndex { $0.elementsEqual(name.utf8) }.flatMap(value(at:))
    }

    /// The bytes of a kept header by its index in `Configuration.keptHeaders`, which is faster.
    public func value(at place: Int) -> ArraySlice<UInt8>? {
        var position = fields.lowerBound
        while position < fields.upperBound {
            let length = Int(bytes[position + 1])
            let value = position + 2..<position + 2 + length
            if bytes[position] == UInt8(place) { return bytes[value] }
            position = value.upperBound
        }
        return nil
    }
}

extension HTTP2Response {
    /// All kept headers with their names, in the order they came.
    package var keptHeaders: [(String, String)] {
        var headers: [(String, String)] = []
        var position = fields.lowerBound
        while position < fields.upperBound {
            let length = Int(bytes[position + 1])
            let value = position + 2..<position + 2 + length
            let name = names[Int(bytes[position])]
            headers.append((String(decoding: name, as: UTF8.self), String(decoding: bytes[value], as: UTF8.self)))
            position = value.upperBound
        }
        return headers
    }
}
