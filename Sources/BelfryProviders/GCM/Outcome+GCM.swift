import BelfryService
import GCM

// The outcome of every answer of gcm/send. docs/Providers.md has the same table for operators.
// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).

extension Outcome {
    /// - Parameters:
    ///   - kind: the type of platform that the tokens belong to.
    ///   - sentAt: when sending began; a dead token comes without a time.
    init(_ answer: GCMAnswer, kind: PlatformKind, sentAt: Instant) {
        switch answer {
        case .accepted(_, let canonical): self.init(movedTo: canonical, kind: kind)
        case .rejected(let error, let retryAfter):
            self.init(error, retryAfter, sentAt)
            self = saying("\(error)")
        case .refused(let status, let retryAfter, let words):
            self.init(gcmStatus: status, retryAfter)
            self = spoken(by: .request).saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "GCM")
        case .unknown: self = .unanswered
        }
    }

    private init(_ error: GCMError, _ retryAfter: Duration?, _ sentAt: Instant) {
        switch error {
        case .notRegistered: self = .gone(since: sentAt)
        case .invalidRegistration: self = .refused(.badToken)
        case .missingRegistration: self = .refused(.missingToken)
        case .mismatchSenderID: self = .refused(.tokenOfAnotherApplication)
        case .messageTooBig: self = .refused(.payloadTooLarge)
        case .invalidTTL: self = .refused(.badExpiration)
        case .invalidAPNsCredential: self = .refused(.forbidden)
        case .unavailable, .internalServerError: self = .failed(retryAfter: retryAfter)
        case .deviceMessageRateExceeded, .topicsMessageRateExceeded:
            self = .throttled(retryAfter: retryAfter ?? .seconds(60))
        default: self = .refused(.other)
        }
    }

    private init(gcmStatus status: Int, _ retryAfter: Duration?) {
        switch status {
        case 401, 403, 404, 300..<400: self = .credentialsRefused("GCM answered \(status)")
        case 413: self = .refused(.payloadTooLarge)
        case 429: self = .throttled(retryAfter: retryAfter ?? .seconds(60))
        case 500...: self = .failed(retryAfter: retryAfter)
        default: self = .refused(.other)
        }
    }
}
