import BelfryService
import Outbound

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
            self = .failed(retryAfter: error.retryAfter).saying("no access token: \(error.reason)")
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
        case 408, 500...: self = .failed(retryAfter: retryAfter)
        case 413: self = .refused(.payloadTooLarge)
        case 429: self = .throttled(retryAfter: retryAfter)
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
