import FoundationEssentials
import NIOCore
import NIOPosix
import NIOSSL
import Tunnel

/// Why a connection could not be opened.
public struct HTTP2ConnectError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The connection was not accepted.
        public static let unreachable = Code(number: 1)
        /// TCP, TLS and the first SETTINGS took longer than the deadline.
        public static let deadline = Code(number: 2)
        /// The server refused our certificate, or we do not trust its own.
        public static let tlsRefused = Code(number: 3)
        /// The peer closed the connection before its first SETTINGS.
        public static let closed = Code(number: 4)
        /// The peer does not speak HTTP/2.
        public static let protocolBroken = Code(number: 5)
        /// The TLS configuration or the host name cannot be used.
        public static let invalid = Code(number: 6)
        /// The proxy cannot be reached, or opened no connection; the server was not contacted.
        public static let proxy = Code(number: 7)
        /// The name did not resolve.
        public static let unresolved = Code(number: 8)
        /// The peer's address is none that may be spoken to.
        public static let addressRefused = Code(number: 9)
        /// The peer chose HTTP/1.1.
        public static let speaksHTTP1 = Code(number: 10)
        /// No more connections may be opened.
        public static let full = Code(number: 11)
    }

    public let code: Code
    /// A human-readable reason.
    public let reason: String

    public var description: String { reason }

    /// The fault for requests that waited for the connection.
    var fault: HTTP2Fault {
        switch code {
        case .tlsRefused: HTTP2Fault(.tlsRefused)
        case .proxy: HTTP2Fault(.proxy)
        case .full: HTTP2Fault(.full)
        default: HTTP2Fault(.connectFailed)
        }
    }

    package init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    init(ending: HTTP2Ending) {
        switch ending {
        case .tlsRefused(let reason): self.init(code: .tlsRefused, reason: reason)
        case .lost(let reason): self.init(code: .closed, reason: reason)
        case .goAway(let errorCode, _): self.init(code: .closed, reason: "GOAWAY, HTTP/2 error \(errorCode)")
        case .protocolBroken: self.init(code: .protocolBroken, reason: "the peer does not speak HTTP/2")
        default: self.init(code: .closed, reason: "closed before the first SETTINGS")
        }
    }

    package init(_ error: any Error, host: String, port: Int) {
        switch error {
        case let error as HTTP2ConnectError: self = error
        case let error as TunnelError: self.init(code: .proxy, reason: error.reason)
        case let error as ChannelError where error.isConnectTimeout:
            self.init(code: .deadline, reason: "connecting to \(host):\(port) took too long")
        case is NIOSSLError, is NIOSSLExtraError:
            self.init(ending: HTTP2Ending(error))
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            self =
                error.dnsAError as? HTTP2ConnectError
                ?? HTTP2ConnectError(code: .unresolved, reason: "the name \(host) does not resolve")
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.first.map { Self.words($0.error) } ?? "\(error)"
            self.init(code: .unreachable, reason: "cannot connect to \(host):\(port): \(cause)")
        default:
            self.init(code: .unreachable, reason: "cannot connect to \(host):\(port): \(error)")
        }
    }

    /// The system's name of the error, such as `Connection refused`.
    private static func words(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode))
    }
}

extension ChannelError {
    fileprivate var isConnectTimeout: Bool { if case .connectTimeout = self { true } else { false } }
}

extension HTTP2Ending {
    /// Classifies a channel error. BoringSSL names the alert only in its text.
    init(_ error: any Error) {
        let text = "\(error)"
        switch error {
        case NIOSSLError.uncleanShutdown:
            self = .lost(reason: "closed without a TLS close_notify")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self = Self.isAboutCredentials(text) ? .tlsRefused(reason: text) : .lost(reason: text)
        default:
            self = .lost(reason: text)
        }
    }

    /// The alerts a peer sends about a certificate, and the errors of our own verification. Source: RFC 8446 §6.2.
    private static func isAboutCredentials(_ text: String) -> Bool {
        [
            "BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED",
            "CERTIFICATE_UNKNOWN", "UNKNOWN_CA", "ACCESS_DENIED", "CERTIFICATE_REQUIRED", "CERTIFICATE_VERIFY_FAILED",
            "failedToValidateHostname", "unableToValidateCertificate",
        ].contains { text.contains($0) }
    }
}
