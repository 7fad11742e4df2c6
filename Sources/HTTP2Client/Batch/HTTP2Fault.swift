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
