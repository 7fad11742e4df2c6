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

/// Counts consecutive server errors: a connection that returns nothing else is defective, though it is open.
///
/// APNs is known to answer 500 to everything on one connection, often after it was idle.
struct AnswerStreak {
    let sickAfter: Int
    private(set) var errors = 0

    /// True when this answer makes the connection sick.
    mutating func saw(status: Int) -> Bool {
        errors = status >= 500 ? errors + 1 : 0
        return errors == sickAfter
    }
}

/// Why a request has no response. Codes may be added; switch with a default.
public struct HTTP2Fault: Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The connection was lost.
        public static let connectionLost = Code(number: 1)
        /// The server is closing the connection and said which requests it will not process.
        public static let goAway = Code(number: 2)
        /// The server refused the stream before processing it.
        public static let refused = Code(number: 3)
        /// The server reset the stream.
        public static let reset = Code(number: 4)
        /// The caller's deadline passed.
        public static let deadline = Code(number: 5)
        /// The caller's task was cancelled.
        public static let cancelled = Code(number: 6)
        /// The client is closing this connection.
        public static let closing = Code(number: 7)
        /// No connection could be opened.
        public static let connectFailed = Code(number: 8)
        /// The TLS handshake failed because of the credentials: the server refused ours or we do not trust its own.
        public static let tlsRefused = Code(number: 9)
        /// The server did not answer a ping in time.
        public static let pingUnanswered = Code(number: 10)
        /// The server broke the protocol.
        public static let protocolBroken = Code(number: 11)
        /// More requests wait than the connection or the pool holds.
        public static let full = Code(number: 12)
        /// The pool waits before it tries to connect again.
        public static let circuitOpen = Code(number: 13)
        /// The request could not be made, such as a header the protocol forbids or a failure to sign.
        public static let invalid = Code(number: 14)
        /// The proxy opened no connection.
        public static let proxy = Code(number: 15)

        // In the order of the numbers, from 1.
        private static let texts = [
            "connection lost",
            "GOAWAY",
            "stream refused",
            "stream reset",
            "deadline passed",
            "cancelled",
            "connection closing",
            "no connection could be opened",
            "TLS credentials refused",
            "ping unanswered",
            "protocol broken",
            "queue full",
            "waiting before the next connect",
            "request not valid",
            "no connection through the proxy",
        ]
        var text: String { Self.texts[Int(number) - 1] }
    }

    public let code: Code
    /// The HTTP/2 error code that came with it, 0 where there was none. Source: RFC 9113 §7.
    public let errorCode: UInt32

    public init(_ code: Code, errorCode: UInt32 = 0) {
        self.code = code
        self.errorCode = errorCode
    }

    public var description: String {
        errorCode == 0 ? code.text : "\(code.text) (HTTP/2 error \(errorCode))"
    }
}
