import BelfryService
import HMS

// The outcome of every answer of Push Kit. docs/Providers.md has the same table for operators.
// Source: Huawei, Push Kit REST API, result codes. A result code takes precedence over the status.

extension Outcome {
    init(_ answer: HMSAnswer) {
        switch answer {
        case .accepted: self = .accepted
        case .illegalToken(let cause): self.init(cause)
        case .rejected(let rejection):
            self.init(rejection)
            self = spoken(by: .request).saying("\(rejection.status) \(rejection.code?.text ?? "")", rejection.words)
        case .unauthorized(let error): self.init(error)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "HMS")
        case .unknown: self = .unanswered
        }
    }

    /// Errors about our credentials become `credentialsRefused`; every other error concerns the device alone.
    private init(_ cause: HMSCause) {
        switch cause {
        case .noRight, .noPushTypeRight, .noLiveNotificationRight, .appInformation:
            self = .credentialsRefused("HMS answered \(cause)")
        case .country, .platform: self = .refused(.forbidden)
        // Also reported for a token of another app: never a reason to deactivate.
        default: self = .refused(.badToken)
        }
    }

    private init(_ rejection: HMSRejection) {
        switch rejection.code {
        case .allTokensInvalid?: self = .refused(.badToken)
        case .badExpiration?: self = .refused(.badExpiration)
        case .badCollapseKey?: self = .refused(.badCollapseID)
        case .sensitiveContent?: self = .refused(.forbidden)
        case .tooLarge?: self = .refused(.payloadTooLarge)
        case .badParameters?, .tokenCount?, .badStructure?, .badBody?, .tooManyTokens?: self = .refused(.other)
        case .tooManyTopicMessages?: self = .throttled(retryAfter: rejection.retryAfter)
        case .authenticationFailed?, .tokenExpired?, .noPermission?, .noHighPriority?:
            self = .credentialsRefused("HMS answered \(rejection.code?.text ?? "")")
        case .tokenServer?, .internalError?: self = .failed(retryAfter: rejection.retryAfter)
        default: self.init(hmsStatus: rejection)
        }
    }

    /// No code, or one that Huawei added later: decided by the status.
    private init(hmsStatus rejection: HMSRejection) {
        switch rejection.status {
        case 401, 403, 404, 300..<400: self = .credentialsRefused("HMS answered \(rejection.status)")
        case 429, 503: self = .throttled(retryAfter: rejection.retryAfter)
        case 500...: self = .failed(retryAfter: rejection.retryAfter)
        default: self = .refused(.other)
        }
    }
}
