import BelfryCore
import HMS

// Every answer of Push Kit and its one consequence. The same table for people: docs/Providers.md.
// Source: Huawei, Push Kit REST API, result codes. A result code speaks before the status does.

extension Outcome {
    init(_ answer: HMSAnswer) {
        switch answer {
        case .accepted: self = .accepted
        case .illegalToken(let cause): self.init(cause)
        case .rejected(let rejection): self.init(rejection)
        case .unauthorized(let error): self.init(error)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "HMS")
        case .unknown: self = .unanswered
        }
    }

    /// What Huawei refuses us bars; what it refuses a device, or has no word for, is that device's.
    private init(_ cause: HMSCause) {
        switch cause {
        case .noRight, .noPushTypeRight, .noLiveNotificationRight, .appInformation:
            self = .credentialsRefused("HMS answered \(cause)")
        case .country, .platform: self = .refused(.forbidden)
        // Also said of a token of another app: never a reason to prune.
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

    /// No code, or one that Huawei had not named when this was written: the status speaks.
    private init(hmsStatus rejection: HMSRejection) {
        switch rejection.status {
        case 401, 403, 404, 300..<400: self = .credentialsRefused("HMS answered \(rejection.status)")
        case 429, 503: self = .throttled(retryAfter: rejection.retryAfter)
        case 500...: self = .failed(retryAfter: rejection.retryAfter)
        default: self = .refused(.other)
        }
    }
}
