import BelfryService
import HTTP2Client
import Outbound

// Translates the clients' connection faults into the server's.

extension ConnectionFault {
    init(_ error: HTTP2ConnectError) {
        let isTLS = error.code == .tlsRefused || error.reason.contains("SSL routines")
        let kind: Kind =
            switch error.code {
            case .unresolved: .dns
            case .unreachable: .connect
            case .deadline: .timeout
            case .proxy: .proxy
            case _ where isTLS: .tls
            default: .closed
            }
        self.init(
            kind,
            isTLS ? "TLS failed: \(Outbound.tlsWords(error.reason))\(Self.advice(on: error.reason))" : error.reason)
    }

    /// Advice for when this server does not trust the other; empty for other reasons.
    private static func advice(on reason: String) -> String {
        reason.contains("CERTIFICATE_VERIFY_FAILED") || reason.contains("unableToValidateCertificate")
            ? "; the platform's trust_root names the certificates to trust instead of the system's" : ""
    }

    /// nil for a fault that does not concern a connection.
    init?(_ fault: OutboundFault, detail: String? = nil) {
        let kind: Kind
        switch fault.code {
        case .unresolved: kind = .dns
        case .connect: kind = .connect
        case .connectDeadline: kind = .timeout
        case .tls: kind = .tls
        case .proxy: kind = .proxy
        default: return nil
        }
        self.init(kind, detail ?? fault.description)
    }
}
