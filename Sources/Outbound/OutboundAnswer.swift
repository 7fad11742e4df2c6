import AsyncHTTPClient
import FoundationEssentials
import NIOCore
public import NIOHTTP1
import NIOPosix
import NIOSSL

/// The result of one request.
public enum OutboundAnswer: Sendable, Equatable {
    case response(OutboundResponse)
    /// It was certainly not written.
    case unprocessed(OutboundFault)
    /// It may have been written, and no answer came.
    case unknown(OutboundFault)
}

public struct OutboundResponse: Sendable, Equatable {
    public let status: Int
    public let headers: HTTPHeaders
    /// Up to the limit of the request; the rest is cut off.
    public let body: [UInt8]

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why there is no answer.
public struct OutboundFault: Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// No connection: refused, or the host cannot be reached.
        public static let connect = Code(number: 1)
        /// TLS failed, usually because a certificate was not trusted.
        public static let tls = Code(number: 2)
        /// The host's address must not be connected to.
        public static let addressRefused = Code(number: 3)
        /// The URL cannot be used.
        public static let url = Code(number: 4)
        /// The deadline passed.
        public static let deadline = Code(number: 5)
        /// The connection ended, or the answer was not HTTP.
        public static let broken = Code(number: 6)
        /// An answer came, and cannot be understood.
        public static let unreadable = Code(number: 7)
        /// The host's name has no address.
        public static let unresolved = Code(number: 8)
        /// No connection in time.
        public static let connectDeadline = Code(number: 9)
        /// The proxy opened no connection.
        public static let proxy = Code(number: 10)
        /// As many connections are open, or hosts spoken to, as may be.
        public static let full = Code(number: 11)
    }

    public let code: Code
    /// A human-readable reason; contains no address and no secret.
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    static let noConnection = OutboundFault(.connect, "no connection")
    static let unresolved = OutboundFault(.unresolved, "the name of the host does not resolve")
    static let addressRefused = OutboundFault(.addressRefused, "the address of the host is not public")
    static let badURL = OutboundFault(.url, "the URL cannot be used")
    public static let notBegun = OutboundFault(.deadline, "not begun in time")
}

extension OutboundAnswer {
    static let late = OutboundAnswer.unknown(OutboundFault(.deadline, "no answer in time"))

    /// Converts an error of the HTTP client.
    ///
    /// - Parameter isGuarded: whether a third party chose the host. Then the network's own error is not revealed, since
    ///   the name may have resolved to a private address.
    init(_ error: any Error, isGuarded: Bool = false) {
        switch error {
        case is AddressRefused: self = .unprocessed(.addressRefused)
        case let error as NIOConnectionError:
            self = .unprocessed(isGuarded ? .noConnection : OutboundFault(error))
        case let error as IOError where Self.refusals.contains(error.errnoCode):
            self = .unprocessed(isGuarded ? .noConnection : OutboundFault(error))
        case let error as NIOSSLError where error == .uncleanShutdown:
            self = .unknown(OutboundFault(.broken, "the connection ended"))
        case is NIOSSLError, is NIOSSLExtraError:
            self = .unprocessed(OutboundFault(.tls, "TLS failed: \(Outbound.tlsWords("\(error)"))"))
        case let error as HTTPClientError where Self.unconnected.contains(error):
            self = .unprocessed(isGuarded ? .noConnection : OutboundFault(unconnected: error))
        case let error as HTTPClientError where Self.unusable.contains(error):
            self = .unprocessed(OutboundFault(.url, "\(error)"))
        case let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error): self = .late
        case is CancellationError: self = .late
        default: self = .unknown(OutboundFault(.broken, "\(type(of: error))"))
        }
    }

    private static let refusals: Set = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENETDOWN, EADDRNOTAVAIL]
    private static let unconnected: [HTTPClientError] = [
        .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .socksHandshakeTimeout,
        .httpProxyHandshakeTimeout, .invalidProxyResponse, .proxyAuthenticationRequired, .alreadyShutdown,
    ]
    private static let unusable: [HTTPClientError] = [.invalidURL, .emptyHost, .emptyScheme, .missingSocketPath]
}

extension OutboundFault {
    fileprivate init(_ error: NIOConnectionError) {
        guard let first = error.connectionErrors.first else {
            self = .unresolved
            return
        }
        self = (first.error as? IOError).map { OutboundFault($0) } ?? .noConnection
    }

    /// The system's text, such as `Connection refused`.
    fileprivate init(_ error: IOError) {
        self.init(.connect, "no connection: \(String(cString: strerror(error.errnoCode)))")
    }

    fileprivate init(unconnected error: HTTPClientError) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            self.init(.connectDeadline, "no connection in time")
        default: self.init(.connect, "\(error)")
        }
    }
}
