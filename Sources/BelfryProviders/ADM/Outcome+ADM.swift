import ADM
import BelfryService

// The outcome of every answer of ADM. docs/Providers.md has the same table for operators.
// Source: Amazon, "Sending a message via Amazon Device Messaging", response codes.

extension Outcome {
    /// - Parameter sentAt: a device that registered since is active.
    init(_ answer: ADMAnswer, sentAt: Instant) {
        switch answer {
        case .accepted(let replacement): self.init(movedTo: replacement, kind: .amazon)
        case .rejected(let rejection):
            self.init(rejection, sentAt: sentAt)
            self = saying("\(rejection.status)", rejection.words)
        case .unauthorized(let fault): self.init(fault)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "ADM")
        case .unknown: self = .unanswered
        }
    }

    private init(_ rejection: ADMRejection, sentAt: Instant) {
        switch rejection.reason {
        case .unregistered?: self = .gone(since: sentAt)
        case .invalidRegistrationID?: self = .refused(.badToken)
        case .invalidConsolidationKey?: self = .refused(.badCollapseID)
        case .invalidExpiration?: self = .refused(.badExpiration)
        case .messageTooLarge?: self = .refused(.payloadTooLarge)
        case .invalidData?, .invalidChecksum?, .invalidType?: self = .refused(.other)
        case .maxRateExceeded?: self = .throttled(retryAfter: rejection.retryAfter)
        case .accessTokenExpired?: self = .credentialsRefused("ADM refuses the access token")
        case nil where rejection.status == 401: self = .credentialsRefused("ADM refuses the access token")
        case nil where rejection.status == 403: self = .refused(.forbidden)
        case nil: self.init(unlisted: rejection.status, retryAfter: rejection.retryAfter)
        }
    }
}
