/// Why a proxy opened no connection. Nothing was sent through it.
public struct TunnelError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The proxy itself cannot be reached.
        public static let unreachable = Code(number: 1)
        /// The proxy requires credentials, or others.
        public static let credentials = Code(number: 2)
        /// The proxy refuses to connect to the host, or cannot.
        public static let refused = Code(number: 3)
        /// The answer is not one of a proxy of its kind, or the proxy ended the connection.
        public static let garbled = Code(number: 4)
        /// The proxy took too long.
        public static let deadline = Code(number: 5)
    }

    public let code: Code
    /// A human-readable reason; contains no user and no password.
    public let reason: String

    public var description: String { reason }

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
