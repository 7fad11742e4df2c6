import BelfryService
import HTTP2Client
import Outbound
import Synchronization

extension Outcome {
    /// Nothing was sent.
    init(unprocessed fault: OutboundFault) {
        switch fault.code {
        case .addressRefused:
            self = .refused(.addressNotAllowed).saying(
                "not sent: the address is not public, see providers.addresses.allow")
        case .url: self = .refused(.badToken)
        default:
            self =
                ConnectionFault(fault).map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not sent: \(fault)")
        }
    }

    /// Nothing was sent to a host that an operator or a provider names: an operator must correct it.
    init(unprocessed fault: OutboundFault, byHostOf name: String) {
        switch fault.code {
        case .addressRefused:
            self = .credentialsRefused(
                "\(name): the address is not public, see providers.addresses.allow", by: .shared)
        case .tls, .nowhere: self = .credentialsRefused("\(name): \(fault)", by: .shared)
        default:
            self =
                ConnectionFault(fault).map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not sent: \(fault)")
        }
    }

    /// There is no access token.
    init(_ error: AccessTokenError) {
        if error.isRefusal {
            self = .credentialsRefused(error.reason, by: .shared)
        } else if let fault = error.fault.flatMap({ ConnectionFault($0, detail: error.reason) }) {
            self = .unreachable(fault)
        } else {
            self = .failed(retryAfter: Self.wait(error.retryAfter)).saying("no access token: \(error.reason)")
        }
    }

    /// Accepted, perhaps with another token for later pushes; a token that no device could register is ignored.
    init(movedTo token: String?, kind: PlatformKind) {
        let token = token.flatMap { try? DeviceToken($0, for: kind) }
        self = token.map { .moved(to: $0) } ?? .accepted
    }

    /// A wait that a third party may have chosen, an hour at most: a batch waits for the longest.
    static func wait(_ asked: Duration?) -> Duration? { asked.map { min($0, .seconds(3_600)) } }

    /// An answer that no table lists: decided by its status.
    init(unlisted status: Int, retryAfter: Duration?) {
        switch status {
        case 408, 500...: self = .failed(retryAfter: Self.wait(retryAfter))
        case 413: self = .refused(.payloadTooLarge)
        case 429: self = .throttled(retryAfter: Self.wait(retryAfter))
        default: self = .refused(.other)
        }
    }
}

extension CredentialsTest {
    /// The outcome of a request for an access token, which reaches no device.
    init(_ authorize: () async throws(AccessTokenError) -> Void) async {
        do {
            try await authorize()
            self = .works
        } catch {
            self.init(Outcome(error))
        }
    }
}

/// Backs off from a service that throttles its sender: nothing is sent before the wait is over.
///
/// If more than half of a batch is throttled for the sender as a whole, further requests would be refused too.
final class SenderBackOff: Sendable {
    private let waitsUntil = Mutex(Instant.distantPast)

    func isTried(at now: Instant) -> Bool { waitsUntil.withLock { now < $0 } }

    /// - Parameters:
    ///   - waits: the waits that apply to the sender, in the answers of one batch.
    ///   - count: the number of devices in the batch.
    func heed(_ waits: [Duration], of count: Int, at now: Instant) {
        guard waits.count > 1, waits.count * 2 > count, let longest = waits.max() else { return }
        waitsUntil.withLock { $0 = max($0, now + longest) }
    }
}

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
