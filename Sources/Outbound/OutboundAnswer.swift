import HTTP2Client
public import NIOHTTP1

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
public struct OutboundFault: Error, Hashable, CustomStringConvertible {
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
        /// The limit of open connections, or of hosts spoken to, is reached.
        public static let full = Code(number: 11)
        /// The host can never be reached, whatever name servers say.
        public static let nowhere = Code(number: 12)
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
    static let nowhere = OutboundFault(.nowhere, "no such host can ever be reached")
    static let unanswered = OutboundFault(.unresolved, "the name servers of the host give no answer")
    static let manyNames = OutboundFault(.full, "as many names are being looked up as may be")
    static let addressRefused = OutboundFault(.addressRefused, "the address of the host is not public")
    static let badURL = OutboundFault(.url, "the URL cannot be used")
    public static let notBegun = OutboundFault(.deadline, "not begun in time")
}

/// The result of a client for one request, which passes on why there was no answer.
package protocol OutboundResult {
    static func unprocessed(_ fault: OutboundFault) -> Self
    static func unknown(_ fault: OutboundFault) -> Self
}

extension OutboundAnswer {
    static let late = OutboundAnswer.unknown(OutboundFault(.deadline, "no answer in time"))

    /// The result of a client, which reads the response if there is one.
    package func result<Result: OutboundResult>(_ read: (OutboundResponse) -> Result) -> Result {
        switch self {
        case .response(let response): read(response)
        case .unprocessed(let fault): .unprocessed(fault)
        case .unknown(let fault): .unknown(fault)
        }
    }

    /// - Parameters:
    ///   - failure: why there was no connection, if there was none.
    ///   - isGuarded: whether a third party chose the host. Then the network's own error is not revealed, since the name
    ///     may have resolved to a private address.
    init(_ answer: HTTP2Answer, _ failure: HTTP2ConnectError?, isGuarded: Bool) {
        switch answer {
        case .response(let response): self = .response(OutboundResponse(response))
        case .unprocessed(let fault):
            self = .unprocessed(OutboundFault(unprocessed: fault, failure, isGuarded: isGuarded))
        case .unknown(let fault):
            self = fault.code == .deadline || fault.code == .cancelled ? .late : .unknown(.broken(fault))
        }
    }
}

extension OutboundResponse {
    init(_ response: HTTP2Response) {
        self.init(status: response.status, headers: HTTPHeaders(response.keptHeaders), body: Array(response.body))
    }
}

extension OutboundFault {
    fileprivate init(unprocessed fault: HTTP2Fault, _ failure: HTTP2ConnectError?, isGuarded: Bool) {
        switch (fault.code, failure) {
        case (.connectFailed, let failure?), (.tlsRefused, let failure?), (.proxy, let failure?),
            (.circuitOpen, let failure?), (.full, let failure?):
            self.init(failure, isGuarded: isGuarded)
        case (.deadline, _), (.cancelled, _): self = .notBegun
        default: self = .broken(fault)
        }
    }

    private init(_ failure: HTTP2ConnectError, isGuarded: Bool) {
        let isTLS = failure.code == .tlsRefused || failure.reason.contains("SSL routines")
        switch failure.code {
        case .unresolved: self = .unresolved
        case .proxy: self.init(.proxy, failure.reason)
        case .full: self.init(.full, failure.reason)
        case .invalid: self.init(.tls, failure.reason)
        case _ where isTLS: self.init(.tls, "TLS failed: \(Outbound.tlsWords(failure.reason))")
        // A name that resolved to something else a moment before is reported like one that does not resolve.
        case .unreachable, .addressRefused, .deadline:
            if isGuarded || failure.code == .addressRefused {
                self = .noConnection
            } else if failure.code == .deadline {
                self.init(.connectDeadline, "no connection in time")
            } else {
                self.init(.connect, "no connection: \(failure.reason.split(separator: ": ").last ?? "")")
            }
        default: self.init(.broken, "the connection ended before a request")
        }
    }

    fileprivate static func broken(_ fault: HTTP2Fault) -> OutboundFault { OutboundFault(.broken, "\(fault)") }
}
