import BelfryCore
import Outbound

extension Outcome {
    /// Nothing was sent.
    init(unprocessed fault: OutboundFault) {
        switch fault.code {
        case .addressRefused: self = .refused(.forbidden)
        case .url: self = .refused(.badToken)
        default: self = .failed(retryAfter: nil)
        }
    }

    /// There is no access token.
    init(_ fault: AccessToken.Fault) {
        switch fault {
        case .refused(let words): self = .barred(words)
        case .unavailable(let seconds): self = .failed(retryAfter: Self.wait(seconds))
        }
    }

    /// A wait that was asked for, an hour at most: who answers may be a stranger, and a page waits for the longest.
    static func wait(_ seconds: Int?) -> Duration? { seconds.map { .seconds(min($0, 3_600)) } }

    /// An answer that no table names: its status speaks.
    init(status: Int, retryAfter: Int?) {
        switch status {
        case 408, 500...: self = .failed(retryAfter: Self.wait(retryAfter))
        case 413: self = .refused(.payloadTooLarge)
        case 429: self = .throttled(retryAfter: Self.wait(retryAfter))
        default: self = .refused(.other)
        }
    }
}

extension CredentialsTest {
    /// From a request for an access token, which reaches no device.
    init(_ authorize: () async throws(AccessToken.Fault) -> Void) async {
        do {
            try await authorize()
            self = .works
        } catch {
            self.init(Outcome(error))
        }
    }
}
