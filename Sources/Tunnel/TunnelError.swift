/// Why a proxy opened no connection for us. Nothing was sent through it.
public struct TunnelError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The proxy itself cannot be reached.
        public static let unreachable = Code(number: 1)
        /// The proxy wants a login, or another one.
        public static let credentials = Code(number: 2)
        /// The proxy will not, or cannot, connect to the host.
        public static let refused = Code(number: 3)
        /// What the proxy says is not what a proxy of its kind says, or it ended the connection.
        public static let garbled = Code(number: 4)
        /// The proxy took too long.
        public static let deadline = Code(number: 5)
    }

    public let code: Code
    /// For people; holds no user and no password.
    public let reason: String

    public var description: String { reason }

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
