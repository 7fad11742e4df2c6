import APNs
import BelfryCore

// Every answer of APNs and its one consequence. The same table for people: docs/Providers.md.
// Source: Apple, "Handling notification responses from APNs".

extension Outcome {
    init(_ answer: APNsAnswer) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection): self.init(rejection)
        case .unprocessed: self = .failed(retryAfter: nil)
        case .unknown: self = .unanswered
        case .credentialsRefused(let fault): self = .barred("APNs refused the TLS handshake: \(fault)")
        }
    }

    private init(_ rejection: APNsRejection) {
        let retryAfter = rejection.retryAfter.map { Duration.seconds($0) }
        switch rejection.reason {
        case .unregistered, .expiredToken:
            self = .gone(since: rejection.timestamp.map(Instant.init(milliseconds:)))
        case .badDeviceToken: self = .refused(.badToken)
        case .deviceTokenNotForTopic: self = .refused(.tokenOfAnotherApplication)
        case .missingDeviceToken: self = .refused(.missingToken)
        case .payloadTooLarge: self = .refused(.payloadTooLarge)
        case .payloadEmpty: self = .refused(.payloadEmpty)
        case .badCollapseID: self = .refused(.badCollapseID)
        case .badExpirationDate: self = .refused(.badExpiration)
        case .badMessageID: self = .refused(.badMessageID)
        case .badPriority: self = .refused(.badPriority)
        case .invalidPushType: self = .refused(.badPushType)
        case .duplicateHeaders: self = .refused(.duplicateHeaders)
        case .forbidden: self = .refused(.forbidden)
        case .badPath: self = .refused(.badPath)
        case .methodNotAllowed: self = .refused(.methodNotAllowed)
        case .badTopic, .missingTopic, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
            .expiredProviderToken:
            self = .barred("APNs answered \(rejection.status) \(rejection.reason)")
        case .tooManyRequests, .tooManyProviderTokenUpdates: self = .throttled(retryAfter: retryAfter)
        case .idleTimeout, .shutdown: self = .failed(retryAfter: retryAfter)
        case .internalServerError, .serviceUnavailable: self = .failed(retryAfter: retryAfter)
        default: self.init(status: rejection.status, retryAfter: retryAfter)
        }
    }

    /// A reason that Apple had not named when this was written: its status speaks.
    private init(status: Int, retryAfter: Duration?) {
        switch status {
        case 410: self = .gone(since: nil)
        case 429: self = .throttled(retryAfter: retryAfter)
        case 500...: self = .failed(retryAfter: retryAfter)
        default: self = .refused(.other)
        }
    }
}
