import BelfryCore
import FCM

// Every answer of FCM and its one consequence. The same table for people: docs/Providers.md.
// Source: Firebase, "Error codes for the HTTP v1 API".

extension Outcome {
    /// - Parameters:
    ///   - sentAt: when the batch was taken up. FCM gives no time with a dead token: a device that registered since did
    ///     so with another token.
    ///   - fault: why the last connection did not come about, if it did not.
    init(_ answer: FCMAnswer, sentAt: Instant, fault: ConnectionFault? = nil) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection): self.init(rejection, sentAt)
        case .held(let retryAfter): self = .throttled(retryAfter: retryAfter)
        case .unauthorized(let error): self.init(error)
        case .unprocessed: self = fault.map { .unreachable($0) } ?? .failed(retryAfter: nil)
        case .unknown: self = .unanswered
        case .credentialsRefused(let refusal): self = .credentialsRefused("FCM: \(fault?.detail ?? "\(refusal)")")
        }
    }

    private init(_ rejection: FCMRejection, _ sentAt: Instant) {
        switch rejection.code {
        case .unregistered: self = .gone(since: sentAt)
        // FCM says so of a token that is none, and of a message that is wrong: never a reason to prune.
        case .invalidArgument: self = .refused(rejection.isAboutToken ? .badToken : .other)
        case .senderIDMismatch: self = .refused(.tokenOfAnotherApplication)
        // The key with which Firebase speaks to another service is wrong: of this device alone, which is no Android.
        case .thirdPartyAuthError, .apnsAuthError: self = .refused(.forbidden)
        case .quotaExceeded, .resourceExhausted: self = .throttled(retryAfter: rejection.retryAfter ?? .seconds(60))
        case .unavailable, .internal, .unspecified: self = .failed(retryAfter: rejection.retryAfter)
        case .unauthenticated, .permissionDenied, .notFound:
            self = .credentialsRefused("FCM answered \(rejection.status) \(rejection.code)")
        default: self.init(status: rejection.status, rejection)
        }
    }

    /// A code that Google had not named when this was written: its status speaks.
    private init(status: Int, _ rejection: FCMRejection) {
        switch status {
        case 401, 403, 404: self = .credentialsRefused("FCM answered \(status) \(rejection.code)")
        case 429: self = .throttled(retryAfter: rejection.retryAfter ?? .seconds(60))
        case 500...: self = .failed(retryAfter: rejection.retryAfter)
        default: self = .refused(.other)
        }
    }
}
