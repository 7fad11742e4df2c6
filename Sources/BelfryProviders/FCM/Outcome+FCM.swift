import BelfryService
import FCM

// The outcome of every answer of FCM. docs/Providers.md has the same table for operators.
// Source: Firebase, "Error codes for the HTTP v1 API".

extension Outcome {
    /// - Parameters:
    ///   - sentAt: when sending began. FCM names no time for a dead token: a device that registered since did so with another
    ///     token.
    ///   - fault: why the last connection could not be opened, if it could not.
    init(_ answer: FCMAnswer, sentAt: Instant, fault: ConnectionFault? = nil) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, sentAt)
            self = saying("\(rejection.status) \(rejection.code)", rejection.words)
        case .held(let retryAfter):
            self = .throttled(retryAfter: retryAfter).saying("not asked: the project's quota is used up")
        case .unauthorized(let error): self.init(error)
        case .unprocessed(let why):
            self = fault.map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not processed: \(why)")
        case .unknown: self = .unanswered
        case .credentialsRefused(let refusal):
            self = .credentialsRefused("FCM: \(fault?.detail ?? "\(refusal)")", by: .shared)
        }
    }

    private init(_ rejection: FCMRejection, _ sentAt: Instant) {
        switch rejection.code {
        case .unregistered: self = .gone(since: sentAt)
        // FCM reports this for a malformed token, and for an invalid message: never a reason to deactivate.
        case .invalidArgument: self = .refused(rejection.isAboutToken ? .badToken : .other)
        case .senderIDMismatch: self = .refused(.tokenOfAnotherApplication)
        // Firebase's key for another service is wrong: it concerns only this device, which is not an Android device.
        case .thirdPartyAuthError, .apnsAuthError: self = .refused(.forbidden)
        case .quotaExceeded, .resourceExhausted: self = .throttled(retryAfter: rejection.retryAfter ?? .seconds(60))
        case .unavailable, .internal, .unspecified: self = .failed(retryAfter: rejection.retryAfter)
        case .unauthenticated, .permissionDenied, .notFound:
            self = .credentialsRefused("FCM answered \(rejection.status) \(rejection.code)")
        default: self.init(status: rejection.status, rejection)
        }
    }

    /// A code that Google added later: decided by its status.
    private init(status: Int, _ rejection: FCMRejection) {
        switch status {
        case 401, 403, 404: self = .credentialsRefused("FCM answered \(status) \(rejection.code)")
        case 429: self = .throttled(retryAfter: rejection.retryAfter ?? .seconds(60))
        case 500...: self = .failed(retryAfter: rejection.retryAfter)
        default: self = .refused(.other)
        }
    }
}
